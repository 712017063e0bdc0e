// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two adapters on one cable: traffic of every service between them.
#include "cabled_fixture.hpp"

namespace freehca::model::test {

namespace {

class cable_traffic : public cabled {
 protected:
  static constexpr std::uint32_t large = 1u << 20;

  cable_traffic() { activate(); }
  void pair(test_qp& left, test_qp& right) {
    a.connect(left, right.number, lid_b);
    b.connect(right, left.number, lid_a);
  }
  static std::uint64_t at(std::uint64_t offset) { return station::region_start + offset; }
};

}  // namespace

TEST_F(cable_traffic, reliable_connections_move_every_kind_both_ways) {
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  pair(left, right);
  a.fill(at(0), large, 1);
  a.send(left, a.transfer(wqe_opcode::rdma_write, large, at(0), at(0)));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  b.expect_pattern(at(0), large, 1);

  b.fill(at(0), large, 2);
  a.send(left, a.transfer(wqe_opcode::rdma_read, large, at(large), at(0)));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_read));
  a.expect_pattern(at(large), large, 2);

  b.fill(at(0), 5001, 3);
  a.post_receive(left, at(2 * large), 6000, a.key);
  b.send(right, b.transfer(wqe_opcode::send, 5001, at(0), 0));
  b.expect_done(right, true, static_cast<unsigned>(wqe_opcode::send));
  a.expect_done(left, false, static_cast<unsigned>(cqe_opcode::recv_send));
  a.expect_pattern(at(2 * large), 5001, 3);

  const auto number_at = [](station& s, std::uint64_t address) {
    std::uint64_t n;
    std::memcpy(&n, &s.byte_at(address), sizeof n);
    return n;
  };
  const std::uint64_t before = 40;
  std::memcpy(&b.byte_at(at(0)), &before, sizeof before);
  test_send add = a.transfer(wqe_opcode::atomic_fa, sizeof before, at(64), at(0));
  add.swap_add = 2;
  a.send(left, add);
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::atomic_fa));
  EXPECT_EQ(number_at(b, at(0)), 42u);
  EXPECT_EQ(number_at(a, at(64)), 40u);

  EXPECT_EQ(a.counter("port1_packets_looped_back") + b.counter("port1_packets_looped_back"), 0u);
  EXPECT_EQ(a.counter("port1_packets_sent"), b.counter("port1_packets_received"));
  EXPECT_EQ(a.counter("transport_retries") + b.counter("transport_retries"), 0u);
  EXPECT_EQ(a.hca->complaints() + b.hca->complaints(), 0u);
}

TEST_F(cable_traffic, a_write_leaves_the_receive_of_a_send_that_was_cut_off) {
  test_qp left = a.make_qp(0x140, qp_service::uc), right = b.make_qp(0x141, qp_service::uc);
  pair(left, right);
  a.fill(at(0), 2000, 4);
  b.post_receive(right, at(0x10000), 4000, b.key);
  unsigned packets = 0;
  a.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) {
    if (bytes.size() > layouts::link_packet::bytes && ++packets == 2) bytes.clear();
  };
  a.send(left, a.transfer(wqe_opcode::send, 2000, at(0), 0));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::send));
  a.send(left, a.transfer(wqe_opcode::rdma_write, 100, at(0), at(0x20000)));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  b.expect_pattern(at(0x20000), 100, 4);
  EXPECT_TRUE(b.no_completion());
  a.send(left, a.transfer(wqe_opcode::send, 2000, at(0), 0));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::send));
  b.expect_done(right, false, static_cast<unsigned>(cqe_opcode::recv_send));
  b.expect_pattern(at(0x10000), 2000, 4);
}

TEST_F(cable_traffic, datagrams_name_their_source) {
  test_qp left = a.make_qp(0x140, qp_service::ud), right = b.make_qp(0x141, qp_service::ud);
  a.to_rts(left, 0);
  b.to_rts(right, 0);
  a.fill(at(0), 777, 4);
  b.post_receive(right, at(0x10000), 1000, b.key);
  a.send_datagram(left, 777, right.number, lid_b);
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::send));
  const auto e = b.completion();
  EXPECT_EQ(e.get<&layouts::cqe::slid>(), lid_a);
  EXPECT_EQ(e.get<&layouts::cqe::remote_qpn>(), left.number);
  EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 817u);
  b.expect_pattern(at(0x10000 + 40), 777, 4);
}

TEST_F(cable_traffic, immediates_arrive) {
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  pair(left, right);
  const auto expect_immediate = [this] {
    const auto e = b.completion();
    EXPECT_FALSE(e.get<&layouts::cqe::is_send>());
    EXPECT_EQ(e.get<&layouts::cqe::immediate>(), 0x1234u);
  };
  for (const auto opcode : {wqe_opcode::send_imm, wqe_opcode::rdma_write_imm})
    for (const std::uint32_t bytes : {10u, 5000u}) {
      b.post_receive(right, at(large), 6000, b.key);
      test_send s = a.transfer(opcode, bytes, at(0), at(0));
      s.immediate = 0x1234;
      a.send(left, s);
      a.expect_done(left, true, static_cast<unsigned>(opcode));
      expect_immediate();
    }
  test_qp from = a.make_qp(0x140, qp_service::ud), to = b.make_qp(0x141, qp_service::ud);
  a.to_rts(from, 0);
  b.to_rts(to, 0);
  b.post_receive(to, at(large), 6000, b.key);
  a.send_datagram(from, 10, to.number, lid_b, nullptr, wqe_opcode::send_imm);
  a.expect_done(from, true, static_cast<unsigned>(wqe_opcode::send_imm));
  expect_immediate();
}

TEST_F(cable_traffic, a_multicast_datagram_reaches_the_members_at_both_ends) {
  const std::byte mgid[16] = {std::byte{0xff}, std::byte{0x12}, std::byte{}, std::byte{7}};
  test_qp left = a.make_qp(0x140, qp_service::ud), right = b.make_qp(0x141, qp_service::ud);
  a.to_rts(left, 0);
  b.to_rts(right, 0);
  a.join(mgid, left.number);
  b.join(mgid, right.number);
  a.fill(at(0), 100, 5);
  a.post_receive(left, at(0x10000), 200, a.key);
  b.post_receive(right, at(0x10000), 200, b.key);
  a.send_datagram(left, 100, 0, 0xc001, mgid);
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::send));
  a.expect_done(left, false, static_cast<unsigned>(cqe_opcode::recv_send));
  b.expect_done(right, false, static_cast<unsigned>(cqe_opcode::recv_send));
  a.expect_pattern(at(0x10000 + 40), 100, 5);
  b.expect_pattern(at(0x10000 + 40), 100, 5);
}

TEST_F(cable_traffic, a_pulled_cable_ends_requests_after_their_retries) {
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  pair(left, right);
  b.hca->plug_cable(1, false);
  a.send(left, a.transfer(wqe_opcode::rdma_write, large, at(0), at(0)));
  layouts::image<layouts::cqe> e;
  for (unsigned i = 0; i < 100 && !a.driver->next_completion(a.cq, e); ++i) pass(second);
  const auto error = layouts::image<layouts::cqe_error>::from_bytes(e.data());
  EXPECT_EQ(error.get<&layouts::cqe_error::opcode>(), cqe_opcode::error);
  EXPECT_EQ(error.get<&layouts::cqe_error::syndrome>(), cqe_syndrome::transport_retry_exceeded);
  EXPECT_EQ(a.state_of(left), layouts::qp_state::error);
}

TEST_F(cable_traffic, a_cable_that_comes_back_in_time_costs_retries_only) {
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  using layouts::primary_path;
  // 4.096 us * 2^19 is 2.1 s: longer than the link needs to come back.
  const auto patient = [](station& s, const test_qp& own, const test_qp& far, std::uint16_t dlid) {
    s.to_rts(own, s.ready_context(own, far.number)
                      .set<&primary_path::rlid>(dlid)
                      .set<&primary_path::ack_timeout>(19));
  };
  patient(a, left, right, lid_b);
  patient(b, right, left, lid_a);
  a.fill(at(0), large, 6);
  unsigned sent = 0;
  a.host->on_wire = [&](unsigned, std::vector<std::byte>&) { ++sent; };
  a.send(left, a.transfer(wqe_opcode::rdma_write, large, at(0), at(0)));
  while (sent < 100) a.host->run(1);
  b.hca->plug_cable(1, false);
  pass(second);
  EXPECT_EQ(a.state(), layouts::port_state::down);
  b.hca->plug_cable(1, true);
  pass(second);
  a.activate(lid_a);
  b.activate(lid_b);
  pass(5 * second);
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  b.expect_pattern(at(0), large, 6);
  EXPECT_GE(a.counter("transport_retries"), 1u);
}

}  // namespace freehca::model::test

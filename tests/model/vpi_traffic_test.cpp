// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two VPI ports on one cable, which change their type together; beside them a port that does not.
#include <array>

#include "vpi_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr std::uint32_t qpn_a = 0x110, qpn_b = 0x120;
constexpr unsigned place = 3;  ///< of MAC and GID in their tables

std::array<std::byte, 16> gid_of(unsigned number) {
  std::array<std::byte, 16> gid{std::byte{0xfe}, std::byte{0x80}};
  gid[15] = static_cast<std::byte>(number + 1);
  return gid;
}
constexpr std::uint64_t mac_of(unsigned number) {
  return 0x0002'c900'0010 + number;
}

class vpi_traffic : public testing::Test {
 protected:
  vpi_traffic() : a(with(0)), b(with(1)) { a.host->lay_cable(1, *b.host, 1); }
  ~vpi_traffic() override { a.host->part(); }

  static options with(unsigned number) {
    options how = with_cabled_vpi(number);
    how.capture[0] = true;
    return how;
  }
  static void reset(station& s, std::uint32_t qpn) {
    ASSERT_EQ(s.driver->command(opcode::to_rst_qp, 0, qpn, 3).status, command_status::ok);
  }
  /// Both ports of that kind, with a link.
  void by_infiniband() {
    for (station* s : {&a, &b}) {
      s->close();
      ASSERT_EQ(vpi_driver{*s}.to_infiniband(), command_status::ok);
      s->open();
    }
    a.host->advance(second);
    a.activate(4);
    b.activate(9);
  }
  void by_ethernet() {
    unsigned number = 0;
    for (station* s : {&a, &b}) {
      using mac = set_port_mac_entry;
      using address = set_port_roce_addr_entry;
      const vpi_driver port{*s};
      s->close();
      ASSERT_EQ(port.to_ethernet(), command_status::ok);
      const auto entry = image<mac>{}.set<&mac::valid>(true).set<&mac::mac>(mac_of(number));
      ASSERT_EQ(port.ethernet(set_port_selector::mac_table, entry, place), command_status::ok);
      const auto gid = image<address>{}.set_bytes<&address::gid>(gid_of(number).data());
      ASSERT_EQ(port.ethernet(set_port_selector::roce_addr, gid, place), command_status::ok);
      s->open();
      ++number;
    }
    a.host->advance(second);
    ASSERT_TRUE(a.links().active(1) && b.links().active(1));
  }
  static image<qpc> roce_context(station& s, const test_qp& qp, std::uint32_t remote,
                                 unsigned far) {
    image<qpc> c = s.ready_context(qp, remote);
    c.set<&primary_path::sched_queue>(sched_queue_ethernet(1, 0))
        .set<&primary_path::rlid>(0)
        .set<&primary_path::grh>(true)
        .set<&primary_path::my_lid_smac_idx>(place)
        .set<&primary_path::link_type>(path_link::ethernet)
        .set<&primary_path::mgid_index>(place)
        .set<&primary_path::hop_limit>(64)
        .set_bytes<&primary_path::rgid>(gid_of(far).data())
        .set<&primary_path::dmac>(mac_of(far));
    return c.set<&qpc::roce>(roce_mode::v1);
  }
  /// A send, a write and a read of a reliable connection.
  void connection_works(bool ethernet, unsigned seed) {
    test_qp qa = a.make_qp(qpn_a), qb = b.make_qp(qpn_b);
    if (ethernet) {
      a.to_rts(qa, roce_context(a, qa, qb.number, 1));
      b.to_rts(qb, roce_context(b, qb, qa.number, 0));
    } else {
      a.connect(qa, qb.number, 9);
      b.connect(qb, qa.number, 4);
    }
    const std::uint64_t here = station::region_start, there = here + 0x10000;
    a.fill(here, 3000, seed);
    b.post_receive(qb, there, 4096, b.key);
    a.send(qa, a.transfer(wqe_opcode::send, 3000, here, 0));
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
    b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
    b.expect_pattern(there, 3000, seed);
    a.send(qa, a.transfer(wqe_opcode::rdma_write, 2001, here, there + 0x8000));
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    b.expect_pattern(there + 0x8000, 2001, seed);
    reset(a, qpn_a);
    reset(b, qpn_b);
  }
  station a, b;
};

}  // namespace

TEST_F(vpi_traffic, goes_by_either_kind_back_and_forth) {
  for (unsigned times = 0; times < 10; ++times) {
    by_infiniband();
    if (HasFatalFailure()) return;
    connection_works(false, 2 * times + 1);
    by_ethernet();
    if (HasFatalFailure()) return;
    connection_works(true, 2 * times + 2);
  }
  EXPECT_EQ(a.hca->complaints() + b.hca->complaints(), 0u);
  EXPECT_EQ(a.counter("port1_malformed_packets") + a.counter("port1_bad_vcrc"), 0u);
}

TEST_F(vpi_traffic, of_a_datagram_queue_pair_goes_on_by_the_new_kind) {
  by_infiniband();
  test_qp qa = a.make_qp(qpn_a, qp_service::ud), qb = b.make_qp(qpn_b, qp_service::ud);
  a.to_rts(qa, roce_context(a, qa, 0, 0));
  b.to_rts(qb, roce_context(b, qb, 0, 0));
  const std::uint64_t there = station::region_start + 0x10000;
  b.post_receive(qb, there, 1000, b.key);
  a.send_datagram(qa, 100, qb.number, 9);
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
  by_ethernet();
  if (HasFatalFailure()) return;
  b.post_receive(qb, there, 1000, b.key);
  test_send d = a.transfer(wqe_opcode::send, 100, station::region_start, 0);
  d.dqpn = qb.number;
  d.qkey = station::qkey;
  const std::size_t at = std::size_t{qa.sent % test_qp::entries} * test_qp::stride + 16;
  a.post_send(qa, d);
  auto segment = image<wqe_datagram>::from_bytes(a.driver->bytes_of(qa.ring, at));
  segment.set<&wqe_datagram::mgid_index>(place)
      .set<&wqe_datagram::rlid>(0)
      .set_bytes<&wqe_datagram::dgid>(gid_of(1).data())
      .set<&wqe_datagram::dmac>(mac_of(1))
      .set<&wqe_datagram::vlan>(0xffff);
  a.put(qa, at, segment);
  a.ring(qa);
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
}

TEST_F(vpi_traffic, is_captured_while_the_port_is_of_its_first_kind) {
  unsigned captured = 0;
  a.host->on_packet = [&](unsigned, const std::vector<std::byte>&) { ++captured; };
  by_ethernet();
  connection_works(true, 1);
  EXPECT_EQ(captured, 0u);
  by_infiniband();
  connection_works(false, 2);
  EXPECT_GT(captured, 0u);
}

TEST_F(vpi_traffic, ends_when_one_side_changes_and_comes_back_with_it) {
  by_infiniband();
  connection_works(false, 1);
  a.close();
  ASSERT_EQ(vpi_driver{a}.to_ethernet(), command_status::ok);
  a.open();
  a.host->advance(2 * second);
  EXPECT_FALSE(a.links().active(1));
  EXPECT_FALSE(b.links().active(1));
  EXPECT_EQ(vpi_driver{a}.sensed(), port_type::ib);
  by_infiniband();
  connection_works(false, 2);
}

// iPXE brings it to RTS, and then makes the port one of Ethernet (hermon.c hermon_eth_open).
TEST(vpi_frames, go_to_a_queue_pair_that_is_older_than_the_type) {
  options how = with_cabled_vpi(0);
  how.without.add(capability::b0_steering);  // so A0's few numbers steer
  station a(how);
  const vpi_driver port{a};
  constexpr std::uint64_t frame_mac = mac_of(0);
  test_qp qp = a.make_qp(qpn_a, qp_service::mlx);
  image<qpc> c = a.first_context(qp);
  c.set<&primary_path::sched_queue>(sched_queue_ethernet(1, 0))
      .set<&primary_path::link_type>(path_link::ethernet)
      .set<&primary_path::counter_index>(0xff)
      .set<&qpc::mtu>(static_cast<ib_mtu>(7))
      .set<&qpc::msg_max>(31);
  for (const opcode o : {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp})
    ASSERT_EQ(a.modify(o, qpn_a, c), command_status::ok);
  a.post_receive(qp, station::region_start, 2000, a.key);
  using rqp = set_port_rqp_calc;
  ASSERT_EQ(port.ethernet(set_port_selector::rqp_calc, image<rqp>{}
                                                           .set<&rqp::base_qpn>(qpn_a & ~7u)
                                                           .set<&rqp::promisc>(true)
                                                           .set<&rqp::promisc_qpn>(qpn_a)
                                                           .set<&rqp::mcast_qpn>(qpn_a)),
            command_status::ok);
  a.open();
  a.host->advance(second);
  std::vector<std::byte> f(100, std::byte{7});
  for (unsigned i = 0; i < 6; ++i) f[i] = static_cast<std::byte>(frame_mac >> 8 * (5 - i) & 0xff);
  store_be<std::uint16_t>(f.data() + 12, 0x88b5);
  a.hca->link_receive(1, f.data(), f.size());
  a.host->run();
  const auto e = a.completion();
  EXPECT_EQ(e.get<&cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
  EXPECT_EQ(e.get<&cqe::byte_count>(), 100u);
  EXPECT_EQ(std::memcmp(&a.byte_at(station::region_start), f.data(), f.size()), 0);
  EXPECT_EQ(a.hca->complaints(), 0u);
  // Now that it carries frames it is bound to them.
  a.close();
  EXPECT_EQ(port.to_infiniband(), command_status::bad_resource_state);
}

TEST(vpi_neighbour, keeps_its_link_and_its_frames_when_the_other_port_changes) {
  options how = with_cabled_vpi(0);
  how.link[1] = link_layer::ethernet;
  how.cable[1] = true;
  station s(how);
  unsigned sent = 0;
  s.host->on_wire = [&](unsigned port, std::vector<std::byte>&) { sent += port == 2; };
  s.open(2);
  s.host->advance(second);
  const vpi_driver port{s};
  for (int times = 0; times < 10; ++times) {
    ASSERT_EQ(times % 2 == 0 ? port.to_ethernet() : port.to_infiniband(), command_status::ok);
    s.host->advance(second);
    ASSERT_TRUE(s.links().active(2));
    s.links().ethernet(2)->transmit(frame{std::vector<std::byte>(100, std::byte{2})});
    s.host->run();
  }
  EXPECT_EQ(sent, 10u);
  EXPECT_EQ(s.counter("port2_packets_sent"), 10u);
}

}  // namespace freehca::model::test

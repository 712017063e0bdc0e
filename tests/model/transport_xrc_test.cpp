// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Extended reliable connections: the sender names the shared receive queue.
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;

namespace {

class xrc : public transport_fixture {
 protected:
  static constexpr std::uint32_t srqn = 71, srq_cqn = 201, xrcd = 9;
  static constexpr std::uint64_t to = region_start + 0x10000;

  xrc()
      : a(make_qp(0x150, qp_service::xrc)),
        b(make_qp(0x800151, qp_service::xrc)),
        shared(make_srq_buffer(srqn)) {
    EXPECT_EQ(driver->make_cq(srq_cq, srq_cqn, eqn).status, command_status::ok);
    auto c = srq_context(shared);
    c.set<&layouts::srqc::xrcd>(xrcd).set<&layouts::srqc::cqn>(srq_cqn);
    EXPECT_EQ(driver->command_with(opcode::sw2hw_srq, c, srqn).status, command_status::ok);
    for (const auto& [qp, remote] : {std::pair{&a, b.number}, std::pair{&b, a.number}}) {
      auto first = first_context(*qp);
      first.set<&layouts::qpc::xrcd>(xrcd).set<&layouts::qpc::log_rq_size>(0xf);
      if (qp == &b) first.set<&layouts::qpc::pd>(pd + 1);
      EXPECT_EQ(modify(opcode::rst2init_qp, qp->number, first), command_status::ok);
      const auto ready = ready_context(*qp, remote);
      EXPECT_EQ(modify(opcode::init2rtr_qp, qp->number, ready), command_status::ok);
      EXPECT_EQ(modify(opcode::rtr2rts_qp, qp->number, ready), command_status::ok);
    }
  }
  void post_shared(std::uint32_t bytes) { transport_fixture::post_shared(shared, to, bytes); }
  void send_to(std::uint32_t queue, std::uint32_t bytes) {
    test_send s;
    s.address = region_start;
    s.bytes = bytes;
    s.lkey = key;
    send_to(queue, s);
  }
  void send_to(std::uint32_t queue, const test_send& s) {
    const std::size_t begin = std::size_t{a.sent % test_qp::entries} * test_qp::stride;
    post_send(a, s);
    auto control = layouts::image<layouts::wqe_ctrl>::from_bytes(driver->bytes_of(a.ring, begin));
    control.set<&layouts::wqe_ctrl::remote_srqn>(queue);
    put(a, begin, control);
    ring(a);
  }
  test_driver::queue srq_cq;
  test_qp a, b;
  test_srq shared;
};

}  // namespace

TEST_F(xrc, a_send_lands_in_the_queue_that_it_names) {
  fill(region_start, 5000, 4);
  post_shared(5000);
  send_to(srqn, 5000);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  layouts::image<layouts::cqe> e;
  ASSERT_TRUE(driver->next_completion(srq_cq, e)) << "in the shared queue's CQ";
  EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
  EXPECT_EQ(e.get<&layouts::cqe::remote_qpn>(), srqn);
  EXPECT_EQ(e.get<&layouts::cqe::qpn>(), b.number) << "the number as the driver gave it";
  EXPECT_EQ(e.get<&layouts::cqe::wqe_index>(), 0u);
  expect_pattern(to, 5000, 4);
}

TEST_F(xrc, remote_keys_belong_to_the_domain_of_the_named_queue) {
  // The queue pair that receives is of another protection domain than the region, the queue is not.
  fill(region_start, 3000, 8);
  for (const wqe_opcode what : {wqe_opcode::rdma_write, wqe_opcode::rdma_read}) {
    test_send s;
    s.opcode = what;
    s.address = what == wqe_opcode::rdma_read ? region_start + 0x20000 : region_start;
    s.bytes = 3000;
    s.lkey = s.rkey = key;
    s.remote_address = to;
    send_to(srqn, s);
    expect_done(a, true, static_cast<unsigned>(what));
  }
  expect_pattern(to, 3000, 8);
  expect_pattern(region_start + 0x20000, 3000, 8);
}

TEST_F(xrc, every_operation_of_one_packet_and_of_several_arrives) {
  using o = wqe_opcode;
  for (const std::uint32_t bytes : {8u, 3000u})
    for (const o what :
         {o::send, o::send_imm, o::rdma_write, o::rdma_write_imm, o::rdma_read, o::atomic_fa}) {
      if (what == o::atomic_fa && bytes != 8) continue;
      SCOPED_TRACE(testing::Message() << name_of(what) << ", " << bytes << " bytes");
      fill(region_start, bytes, 4);
      std::memset(&byte_at(to), 0, bytes);
      const bool receives = what == o::send || what == o::send_imm || what == o::rdma_write_imm;
      if (receives) post_shared(bytes);
      test_send s = transfer(what, bytes, region_start, to);
      s.immediate = 0x5a5a;
      send_to(srqn, s);
      expect_done(a, true, static_cast<unsigned>(what));
      layouts::image<layouts::cqe> e;
      ASSERT_EQ(driver->next_completion(srq_cq, e), receives);
      if (receives && what != o::send) {
        EXPECT_EQ(e.get<&layouts::cqe::immediate>(), 0x5a5au);
      }
      if (what == o::rdma_read || what == o::atomic_fa) {
        EXPECT_EQ(byte_at(region_start + 1), std::byte{0}) << "what was there";
      } else {
        expect_pattern(to, bytes, 4);
      }
    }
}

TEST_F(xrc, masked_atomics_are_by_the_domain_of_the_named_queue_too) {
  byte_at(to) = std::byte{0x0f};
  test_send s = transfer(wqe_opcode::masked_atomic_fa, 8, region_start, to);
  s.swap_add = 0x01;
  s.compare = 0x08;  // the low four bits are a field
  send_to(srqn, s);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::masked_atomic_fa));
  EXPECT_EQ(byte_at(region_start), std::byte{0x0f});
  EXPECT_EQ(byte_at(to), std::byte{0x00});
  s = transfer(wqe_opcode::masked_atomic_cs, 8, region_start, to);
  s.swap_add = s.swap_mask = 0x30;
  send_to(srqn, s);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::masked_atomic_cs));
  EXPECT_EQ(byte_at(to), std::byte{0x30});
}

TEST_F(xrc, memory_is_managed_in_the_senders_domain) {
  using w = layouts::wqe_local_invalidate;
  const std::size_t begin = std::size_t{a.sent % test_qp::entries} * test_qp::stride;
  test_send s;
  s.opcode = wqe_opcode::local_invalidate;
  post_send(a, s);
  put(a, begin + 16, layouts::image<w>{}.set<&w::mem_key>(key));
  auto control = layouts::image<layouts::wqe_ctrl>::from_bytes(driver->bytes_of(a.ring, begin));
  put(a, begin, control.set<&layouts::wqe_ctrl::ds>(3).set<&layouts::wqe_ctrl::strong_order>(true));
  ring(a);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::local_invalidate));
}

TEST_F(xrc, a_queue_that_does_not_exist_or_is_of_another_domain_is_refused) {
  send_to(99, 10);
  expect_error(a, true, cqe_syndrome::remote_op, 0);
}

// A user's XRC target: nobody stamps the queue's owner bits, and nobody rings for it.
TEST_F(xrc, a_send_queue_is_not_looked_at_before_its_first_doorbell) {
  const test_qp target = make_qp(0x800152, qp_service::xrc);
  for (std::size_t i = 0; i < test_qp::entries; ++i)
    std::memset(driver->bytes_of(target.ring, i * test_qp::stride), 0, layouts::wqe_ctrl::bytes);
  to_rts(target, a.number);
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(state_of(target), layouts::qp_state::rts);
  EXPECT_EQ(driver->command(opcode::to_err_qp, 0, target.number).status, command_status::ok);
  EXPECT_TRUE(no_completion());
}

}  // namespace freehca::model::test

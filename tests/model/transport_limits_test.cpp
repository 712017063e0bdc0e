// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Many queue pairs at work at once: what they have under way stays within bounds, and all of it
// arrives.
#include "basis/limits.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;

namespace {

class transport_limits : public transport_fixture {
 protected:
  static constexpr std::uint32_t first = 0x80, queue_pairs = 800;

  /// Queue pairs with packets of 256 bytes, each connected to itself or to one that is not there.
  std::vector<test_qp> make_many(bool to_nobody) {
    std::vector<test_qp> all;
    for (std::uint32_t i = 0; i < queue_pairs; ++i) {
      all.push_back(make_qp(first + i));
      auto ready = ready_context(all.back(), to_nobody ? first + queue_pairs : first + i);
      ready.set<&layouts::qpc::mtu>(layouts::ib_mtu::mtu_256);
      ready.set<&layouts::primary_path::ack_timeout>(0);
      to_rts(all.back(), ready);
    }
    return all;
  }
};

}  // namespace

TEST_F(transport_limits, senders_wait_while_too_much_is_under_way) {
  std::vector<test_qp> all = make_many(false);
  fill(region_start, 8192, 5);
  for (test_qp& qp : all)
    send(qp, transfer(wqe_opcode::rdma_write, 8192, region_start, region_start + 0x100000));
  const scheduler& work = hca->inside().work;
  std::size_t most = 0;
  while (driver->counter_named("cqes") < queue_pairs && !host->idle()) {
    hca->on_timer();
    most = std::max(most, work.backlog());
    if (work.backlog() == 0) host->advance(limits::backlog_pause_ns);
  }
  EXPECT_GT(most, limits::backlog) << "never so much that anybody had to wait";
  // One run of 32 packets may begin below the bound; the runs of the queue pairs themselves are due
  // too.
  EXPECT_LE(most, limits::backlog + 32 + 2 * queue_pairs);
  layouts::image<layouts::cqe> e;
  for (std::uint32_t i = 0; i < queue_pairs; ++i) {
    ASSERT_TRUE(driver->next_completion(cq, e)) << i;
    ASSERT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(wqe_opcode::rdma_write));
  }
  expect_pattern(region_start + 0x100000, 8192, 5);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(transport_limits, requests_that_nobody_answers_are_held_up_to_a_bound) {
  std::vector<test_qp> all = make_many(true);
  static_assert(queue_pairs * test_qp::entries > limits::requests + queue_pairs);
  for (test_qp& qp : all) {
    for (std::uint32_t i = 0; i < test_qp::entries; ++i)
      post_send(qp, transfer(wqe_opcode::rdma_write, 0, 0, 0));
    ring(qp);
  }
  host->advance(1'000'000);
  EXPECT_GE(driver->counter_named("send_requests_held"), limits::requests);
  EXPECT_LE(driver->counter_named("send_requests_held"), limits::requests + queue_pairs);
  for (const test_qp& qp : all)
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, qp.number, 2).status, command_status::ok);
  EXPECT_EQ(driver->counter_named("send_requests_held"), 0u);
}

}  // namespace freehca::model::test

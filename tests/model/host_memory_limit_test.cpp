// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a guest can make the adapter keep of the host's memory, and what it sees at the end of it.
#include "queues/queue_pairs.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {
namespace {

using layouts::opcode;

options small() {
  options how = test_options();
  how.host_memory_limit = options::least_host_memory;
  return how;
}

class host_memory_limit : public transport_fixture {
 protected:
  static constexpr std::uint32_t first = 0x80, end = 1u << test_driver::log_qps;
  host_memory_limit() : transport_fixture(small(), std::make_unique<test_host>(192u << 20)) {}

  command_status make_one(std::uint32_t number) {
    test_qp qp;
    qp.number = number;
    return modify(opcode::rst2init_qp, number, first_context(qp));
  }
  /// Takes room from the queue pairs: single pages of context memory, all of them the same page of
  /// the host.
  void lend_single_pages(std::uint32_t commands) {
    const std::uint64_t page = host->allocate();
    for (std::uint64_t n = 0; n < commands; ++n) {
      for (std::uint64_t i = 0; i < layouts::map_entries_per_mailbox; ++i)
        host->store(driver->input + i * layouts::map_entry::bytes,
                    layouts::image<layouts::map_entry>{}
                        .set<&layouts::map_entry::va>(
                            0x40'0000'0000 + (n * layouts::map_entries_per_mailbox + i) * 8192)
                        .set<&layouts::map_entry::pa>(page));
      ASSERT_EQ(driver
                    ->command(opcode::map_icm, driver->input,
                              static_cast<std::uint32_t>(layouts::map_entries_per_mailbox))
                    .status,
                command_status::ok);
    }
  }
  std::uint64_t kept() { return driver->counter_named("host_memory_kept"); }
};

TEST_F(host_memory_limit, the_default_lets_every_other_limit_come_first) {
  const std::uint64_t otherwise = options{}.host_memory_limit;
  const kept_memory all(otherwise, false);
  EXPECT_EQ(all.requests, limits::requests);
  EXPECT_EQ(all.packets, limits::backlog);
  EXPECT_EQ(all.waiting, limits::link_waiting);
  EXPECT_LE(limits::objects * queue_pairs::bytes_each + (limits::objects << 10), otherwise / 4 * 3);
}

TEST_F(host_memory_limit, objects_past_it_are_refused_and_one_for_one_taken_again) {
  lend_single_pages(200);
  std::uint32_t number = first;
  command_status s = command_status::ok;
  while (number < end && (s = make_one(number)) == command_status::ok) ++number;
  ASSERT_EQ(s, command_status::exceeds_limits) << "there was room for all " << end;
  EXPECT_GE(number - first, 400u);
  EXPECT_LE(kept(), options::least_host_memory / 4 * 3);
  EXPECT_GT(kept() + queue_pairs::bytes_each, options::least_host_memory / 4 * 3);

  EXPECT_EQ(driver->command(opcode::to_rst_qp, 0, first, 2).status, command_status::ok);
  EXPECT_EQ(make_one(first), command_status::ok);
  EXPECT_EQ(make_one(number), command_status::exceeds_limits);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(host_memory_limit, traffic_goes_on_when_objects_have_all_that_is_theirs) {
  test_qp a = make_qp(0x60), b = make_qp(0x61);
  to_rts(a, b.number);
  to_rts(b, a.number);
  for (std::uint32_t n = first; n < end && make_one(n) == command_status::ok; ++n) continue;
  fill(region_start, 100'000, 3);
  send(a, transfer(wqe_opcode::rdma_write, 100'000, region_start, region_start + 0x100000));
  completion();
  expect_pattern(region_start + 0x100000, 100'000, 3);
}

TEST_F(host_memory_limit, requests_that_nobody_answers_wait_in_their_queues) {
  constexpr std::uint32_t queues = 64;
  const std::size_t most = hca->inside_now().kept.requests;
  ASSERT_LT(most, queues * test_qp::entries);
  std::vector<test_qp> all;
  for (std::uint32_t i = 0; i < queues; ++i) {
    all.push_back(make_qp(0x60 + i));
    to_rts(all.back(),
           ready_context(all.back(), 0x300).set<&layouts::primary_path::ack_timeout>(0));
    for (std::uint32_t n = 0; n < test_qp::entries; ++n)
      post_send(all.back(), transfer(wqe_opcode::rdma_write, 0, 0, 0));
    ring(all.back());
  }
  host->advance(1'000'000);
  EXPECT_GE(driver->counter_named("send_requests_held"), most);
  EXPECT_LE(driver->counter_named("send_requests_held"), most + queues);
  EXPECT_LE(kept(), options::least_host_memory);
}

}  // namespace
}  // namespace freehca::model::test

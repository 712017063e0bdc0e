// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a guest makes the model remember has an end, and the end has a status.
#include <gtest/gtest.h>

#include <freehca/layouts/cmpt.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/srqc.hpp>

#include "basis/limits.hpp"
#include "test_driver.hpp"

namespace freehca::model::test {
namespace {

using layouts::cmpt_type;
using layouts::command_status;
using layouts::opcode;

/// Tables for twice as many objects as the model takes on; every piece of them is the same pages of
/// the host, so that it costs the guest nothing.
struct core_limits : ::testing::Test {
  static constexpr unsigned log_entries = 17, log_chunk = 6;
  static_assert(limits::objects < 1u << log_entries);
  static constexpr std::uint64_t chunk = std::uint64_t{4096} << log_chunk;
  static constexpr std::uint64_t queue_pairs = 0x2'0000'0000, completion_queues = 0x3'0000'0000,
                                 shared_queues = 0x4'0000'0000;
  test_host host;
  device hca{host, test_options()};
  test_driver driver{host, hca};
  test_driver::queue eq, cq;
  const std::uint64_t pages = host.allocate(std::size_t{1} << log_chunk, chunk);

  void lend(std::uint64_t va, std::uint64_t entry_bytes) {
    const std::uint64_t end = va + (entry_bytes << log_entries);
    for (va = (va + chunk - 1) / chunk * chunk; va < end; va += chunk)
      ASSERT_EQ(driver.map(opcode::map_icm, va, pages, log_chunk), command_status::ok);
  }
  void SetUp() override {
    ASSERT_TRUE(driver.start_firmware());
    ASSERT_TRUE(driver.prepare_context_memory());
    lend(queue_pairs, 256);
    lend(completion_queues, 128);
    lend(shared_queues, 128);
    for (const cmpt_type type : {cmpt_type::qp, cmpt_type::srq, cmpt_type::cq})
      lend(test_driver::cmpt + layouts::cmpt_offset(type, 0, 64) + chunk, 64);
    auto profile = driver.profile();
    profile.set<&layouts::init_hca::qpc_base>(queue_pairs)
        .set<&layouts::init_hca::log_num_qps>(log_entries)
        .set<&layouts::init_hca::cqc_base>(completion_queues)
        .set<&layouts::init_hca::log_num_cqs>(log_entries)
        .set<&layouts::init_hca::srqc_base>(shared_queues)
        .set<&layouts::init_hca::log_num_srqs>(log_entries);
    ASSERT_EQ(driver.command_with(opcode::init_hca, profile).status, command_status::ok);
    ASSERT_EQ(driver.make_eq(eq, 40, 0).status, command_status::ok);
    ASSERT_EQ(driver.make_cq(cq, 200, 40).status, command_status::ok);
  }

  command_status make_cq(std::uint32_t number) {
    auto context = driver.cq_context(cq, 40);
    context.set<&layouts::cqc::log_cq_size>(0);
    return driver.command_with(opcode::sw2hw_cq, context, number, 1).status;
  }
  command_status make_srq(std::uint32_t number) {
    using l = layouts::srqc;
    layouts::image<l> context;
    context.set<&l::srqn>(number).set<&l::log_srq_stride>(1);
    return driver.command_with(opcode::sw2hw_srq, context, number).status;
  }
  command_status make_qp(std::uint32_t number) {
    using l = layouts::qpc;
    layouts::image<l> context;
    context.set<&l::service>(layouts::qp_service::rc)
        .set<&l::local_qpn>(number)
        .set<&l::cqn_send>(200)
        .set<&l::cqn_recv>(200);
    layouts::image<layouts::qp_mailbox> m;
    m.set_bytes<&layouts::qp_mailbox::context>(context.data());
    return driver.command_with(opcode::rst2init_qp, m, number).status;
  }
  /// Makes as many as there may be, `have` of them there already, then one more; and one after
  /// another has gone.
  template <class Make, class Take>
  void expect_limit(std::size_t have, Make&& make, Take&& take) {
    std::uint32_t number = 256;
    for (std::size_t made = have; made < limits::objects; ++made)
      ASSERT_EQ(make(number++), command_status::ok) << made;
    EXPECT_EQ(make(number), command_status::exceeds_limits);
    EXPECT_EQ(take(number - 1).status, command_status::ok);
    EXPECT_EQ(make(number), command_status::ok);
  }
};

TEST_F(core_limits, completion_queues) {
  expect_limit(
      1, [this](std::uint32_t n) { return make_cq(n); },
      [this](std::uint32_t n) { return driver.command(opcode::hw2sw_cq, 0, n, 1); });
}

TEST_F(core_limits, shared_receive_queues) {
  expect_limit(
      0, [this](std::uint32_t n) { return make_srq(n); },
      [this](std::uint32_t n) { return driver.command(opcode::hw2sw_srq, 0, n, 1); });
}

TEST_F(core_limits, queue_pairs) {
  expect_limit(
      0, [this](std::uint32_t n) { return make_qp(n); },
      [this](std::uint32_t n) { return driver.command(opcode::to_rst_qp, 0, n, 2); });
  EXPECT_EQ(driver.counter_named("queue_pairs"), limits::objects);
  hca.reset();
  EXPECT_EQ(driver.counter_named("queue_pairs"), 0u);
}

TEST(core_limits_map, what_one_command_lends_has_an_end) {
  test_host host;
  device hca{host, test_options()};
  test_driver driver{host, hca};
  unsigned log = 0;
  while (std::uint64_t{1} << log < limits::pages_per_map) ++log;
  EXPECT_EQ(driver.map(opcode::map_fa, 0, 0, log + 1), command_status::exceeds_limits);

  // Two chunks, the first of which fits and is lent.
  layouts::image<layouts::map_entry> first, second;
  first.set<&layouts::map_entry::pa>(host.allocate());
  second.set<&layouts::map_entry::log2size>(log);
  host.store(driver.input, first);
  host.store(driver.input + first.size(), second);
  const std::uint64_t writes = host.bytes_written;
  EXPECT_EQ(driver.command(opcode::map_fa, driver.input, 2).status, command_status::exceeds_limits);
  EXPECT_EQ(host.bytes_written - writes, 4096u);
  EXPECT_TRUE(driver.start_firmware());
}

}  // namespace
}  // namespace freehca::model::test

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// When an event queue asks for an interrupt: once it is empty, and not for each event on the way
// there.
#include <freehca/firmware_cmds/nop.hpp>

#include "device_rig.hpp"

namespace freehca::testing {
namespace {

struct event_queue : ::testing::Test {
  device_rig rig;
  void SetUp() override {
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  }
  void TearDown() override { EXPECT_TRUE(rig.tear_down().ok()) << rig.failure(); }
  std::uint64_t doorbells() const { return rig.machine.counter("doorbells"); }
};

TEST_F(event_queue, is_armed_by_the_first_look_that_finds_nothing) {
  event_context& queue = rig.adapter.asynchronous_context();
  firmware_command<commands::nop> n;
  rig.adapter.commands().submit(n);
  rig.adapter.poll();
  EXPECT_FALSE(queue.due());
  const std::uint64_t messages = rig.machine.messages(), before = doorbells();
  rig.machine.advance(1'000'000);
  EXPECT_EQ(rig.machine.messages(), messages + 1);
  EXPECT_TRUE(queue.due());

  EXPECT_EQ(queue.poll(), 1u);
  EXPECT_EQ(doorbells(), before) << "more may come while this one is looked at";
  EXPECT_TRUE(queue.due());
  EXPECT_EQ(rig.adapter.next_deadline(), 0u) << "nobody else says that it is to be polled";

  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_EQ(doorbells(), before + 1);
  EXPECT_FALSE(queue.due());
  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_EQ(doorbells(), before + 1) << "once is enough";
  EXPECT_TRUE(rig.await(n).ok());
}

TEST_F(event_queue, misses_nothing_that_comes_before_it_is_armed) {
  event_context& queue = rig.adapter.asynchronous_context();
  firmware_command<commands::nop> first, second;
  rig.adapter.commands().submit(first);
  rig.adapter.poll();
  rig.machine.advance(1'000'000);
  ASSERT_EQ(queue.poll(), 1u);
  const std::uint64_t messages = rig.machine.messages();
  rig.adapter.commands().submit(second);
  rig.adapter.commands().poll();
  rig.machine.advance(1'000'000);
  EXPECT_EQ(rig.machine.messages(), messages) << "nobody asked for an interrupt";
  EXPECT_EQ(queue.poll(), 1u);
  EXPECT_TRUE(rig.await(first).ok());
  EXPECT_TRUE(rig.await(second).ok());
}

}  // namespace
}  // namespace freehca::testing

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How long a reset waits for an owner that never polls: ten seconds ahead of the reset, and behind
// it without end, or for ten seconds where the operation was cancelled or is past its deadline.
#include "owners_rig.hpp"

namespace freehca::testing {
namespace {

constexpr std::uint64_t bound = clock::seconds(10);
/// What commands and the reset itself take beside the bounds.
constexpr std::uint64_t rest = clock::seconds(2);

class owners_bound : public ::testing::TestWithParam<bool> {
 protected:
  owners_bound() {
    rig.open_all();
    rig.owners[1].polls = false;
    resets = rig.adapter.info().resets;
    begun = rig.machine.time();
  }
  ~owners_bound() override {
    // The owner polls again, and nothing is left of what went before.
    rig.owners[1].polls = true;
    EXPECT_TRUE(rig.recover().ok()) << rig.failure();
    EXPECT_TRUE(rig.run([&] { return rig.owners[1].objects.up(); }, clock::seconds(1)));
  }
  /// To device_state::down, or up again.
  void start(operation& op) {
    if (GetParam()) rig.adapter.recover(op);
    else rig.adapter.tear_down(op);
  }
  void expect_reset_after_the_first_bound() {
    ASSERT_TRUE(rig.run([&] { return rig.adapter.info().resets > resets; }));
    reset_at = rig.machine.time();
    EXPECT_GE(reset_at - begun, bound);
    EXPECT_LT(reset_at - begun, bound + rest);
  }
  void expect_failed(operation& op) {
    ASSERT_TRUE(op.done());
    EXPECT_TRUE(op.outcome().is(transport_error::timeout)) << words(op.outcome());
    EXPECT_EQ(rig.adapter.state(), device_state::failed);
    EXPECT_EQ(rig.adapter.failure().step, bring_up_step::reset);
    // The owner may still read its rings.
    EXPECT_EQ(rig.machine.dma_blocks(), 1u);
    EXPECT_FALSE(rig.machine.configuration().bus_master());
  }

  owners_rig rig{2};
  std::uint64_t resets = 0, begun = 0, reset_at = 0;
};

TEST_P(owners_bound, has_no_end_where_nobody_asks_for_one) {
  operation op;
  start(op);
  expect_reset_after_the_first_bound();
  EXPECT_FALSE(rig.run([&] { return op.done(); }, clock::seconds(1000)));
  ASSERT_NE(rig.adapter.awaited_owner(), nullptr);
  EXPECT_EQ(rig.adapter.awaited_owner(), rig.owners[1].name);
  rig.owners[1].polls = true;
  EXPECT_TRUE(rig.await(op).ok()) << words(op.outcome());
}

TEST_P(owners_bound, of_a_cancelled_operation_is_ten_seconds_after_the_reset) {
  operation op;
  start(op);
  rig.run([] { return false; }, clock::seconds(1));
  op.cancel();
  expect_reset_after_the_first_bound();
  EXPECT_FALSE(op.done());
  ASSERT_TRUE(rig.run([&] { return op.done(); }));
  EXPECT_GE(rig.machine.time() - reset_at, bound);
  EXPECT_LT(rig.machine.time() - reset_at, bound + rest);
  expect_failed(op);
}

TEST_P(owners_bound, of_an_operation_past_its_deadline_is_ten_seconds_after_the_reset) {
  operation op;
  op.set_deadline(begun + clock::seconds(12));
  start(op);
  expect_reset_after_the_first_bound();
  ASSERT_TRUE(rig.run([&] { return op.done(); }));
  EXPECT_GE(rig.machine.time() - reset_at, bound);
  EXPECT_LT(rig.machine.time() - reset_at, bound + rest);
  expect_failed(op);
}

TEST_P(owners_bound, of_an_operation_that_is_cancelled_later_is_over) {
  operation op;
  start(op);
  expect_reset_after_the_first_bound();
  EXPECT_FALSE(rig.run([&] { return op.done(); }, 3 * bound));
  const std::uint64_t cancelled = rig.machine.time();
  op.cancel();
  ASSERT_TRUE(rig.run([&] { return op.done(); }));
  EXPECT_LT(rig.machine.time() - cancelled, clock::milliseconds(1));
  expect_failed(op);
}

TEST_P(owners_bound, is_not_reached_by_an_owner_that_polls_in_time) {
  operation op;
  op.set_deadline(begun + clock::seconds(12));
  start(op);
  expect_reset_after_the_first_bound();
  rig.run([] { return false; }, bound - rest);
  EXPECT_FALSE(op.done());
  rig.owners[1].polls = true;
  EXPECT_TRUE(rig.run([&] { return op.done(); }));
  EXPECT_NE(rig.adapter.state(), device_state::failed);
}

INSTANTIATE_TEST_SUITE_P(sequences, owners_bound, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& of) {
                           return of.param ? "recover" : "tear_down";
                         });

}  // namespace
}  // namespace freehca::testing

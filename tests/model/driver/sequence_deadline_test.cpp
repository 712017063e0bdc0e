// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A deadline on the whole of bring-up, teardown and recovery, at every instant at which the driver
// had something to do.
#include "either_reset.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;

class sequence_deadline : public testing::either_reset {
 protected:
  using start = void (device::*)(operation&);

  /// When the driver looked, counted from the start of a sequence that nothing disturbs, at most
  /// `most` of them.
  std::vector<std::uint64_t> instants(start sequence, std::size_t most) {
    std::vector<std::uint64_t> all{0};
    const std::uint64_t begun = rig.machine.time();
    operation op;
    (rig.adapter.*sequence)(op);
    EXPECT_TRUE(rig.run([&] {
      const std::uint64_t now = rig.machine.time() - begun;
      if (now != all.back()) all.push_back(now);
      if (waits_from == 0 && rig.adapter.step() == bring_up_step::wait_for_ports) waits_from = now;
      return op.done();
    }));
    EXPECT_TRUE(op.outcome().ok()) << rig.failure();
    const std::size_t stride = all.size() / most + 1;
    std::vector<std::uint64_t> some;
    for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
    return some;
  }
  /// The first instant of the wait for ports, by instants().
  std::uint64_t waits_from = 0;
  void expect_nothing_held(std::uint64_t after) {
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << after;
    EXPECT_TRUE(rig.adapter.holdings().none()) << after;
    EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u) << after;
    EXPECT_EQ(rig.machine.counter("icm_pages"), 0u) << after;
    EXPECT_EQ(rig.machine.counter("firmware_pages"), 0u) << after;
  }
};

TEST_P(sequence_deadline, bring_up_is_undone_or_held_from_every_instant) {
  const std::vector<std::uint64_t> when = instants(&device::bring_up, 300);
  ASSERT_GT(when.size(), 40u);
  const std::uint64_t first_instant_of_wait = waits_from;
  ASSERT_TRUE(rig.tear_down().ok());
  unsigned undone = 0, held = 0, succeeded = 0;
  for (const std::uint64_t after : when) {
    operation up;
    up.set_deadline(rig.machine.time() + after);
    rig.adapter.bring_up(up);
    const status s = rig.await(up);
    if (s.ok()) {
      // The deadline ended the wait for ports, which is no failure.
      EXPECT_GE(after, first_instant_of_wait);
      EXPECT_TRUE(rig.tear_down().ok());
      ++succeeded;
    } else {
      EXPECT_EQ(succeeded, 0u) << after << ": an earlier deadline was enough";
      EXPECT_TRUE(s.is(transport_error::timeout)) << after << ": " << testing::words(s);
      EXPECT_TRUE(rig.adapter.failure().cause.is(transport_error::timeout)) << after;
      held += rig.adapter.state() == device_state::in_doubt ? 1u : 0u;
      undone += rig.adapter.state() == device_state::down ? 1u : 0u;
    }
    expect_nothing_held(after);
    if (HasFailure()) return;
  }
  EXPECT_GT(undone, 5u);
  EXPECT_GT(held + undone, 40u);
  EXPECT_GT(succeeded, 0u);
}

TEST_P(sequence_deadline, a_teardown_goes_on_by_a_reset) {
  ASSERT_TRUE(rig.bring_up().ok());
  const std::vector<std::uint64_t> when = instants(&device::tear_down, 60);
  ASSERT_GT(when.size(), 10u);
  unsigned resets = 0;
  for (const std::uint64_t after : when) {
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    const std::uint64_t before = rig.adapter.info().resets;
    operation down;
    down.set_deadline(rig.machine.time() + after);
    rig.adapter.tear_down(down);
    const status s = rig.await(down);
    if (!s.ok()) {
      EXPECT_TRUE(s.is(transport_error::timeout)) << after << ": " << testing::words(s);
      EXPECT_EQ(rig.adapter.info().resets, before + 1) << after;
      ++resets;
    }
    EXPECT_EQ(rig.adapter.state(), device_state::down);
    expect_nothing_held(after);
    if (HasFailure()) return;
  }
  EXPECT_GT(resets, 10u);
}

TEST_P(sequence_deadline, firmware_that_hangs_costs_a_teardown_no_more_than_its_deadline) {
  for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
    rig.adapter.commands().set_limit(p, clock::seconds(60));
  ASSERT_TRUE(rig.bring_up().ok());
  rig.machine.adapter().judge_commands(
      [](opcode, std::uint32_t) { return model::command_verdict{.what = fate::hold}; });
  const std::uint64_t due = rig.machine.time() + clock::milliseconds(30);
  operation down;
  down.set_deadline(due);
  rig.adapter.tear_down(down);
  down.cancel();  // changes nothing
  EXPECT_TRUE(rig.await(down).is(transport_error::timeout));
  EXPECT_LE(rig.machine.time(), due + clock::seconds(2)) << "a reset takes so long";
  expect_nothing_held(0);
}

TEST_P(sequence_deadline, next_deadline_has_it) {
  rig.machine.adapter().judge_commands(
      [](opcode, std::uint32_t) { return model::command_verdict{.what = fate::hold}; });
  const std::uint64_t due = rig.machine.time() + clock::seconds(5);
  for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
    rig.adapter.commands().set_limit(p, clock::seconds(60));
  operation up;
  up.set_deadline(due);
  rig.adapter.bring_up(up);
  EXPECT_TRUE(rig.run([&] {
    EXPECT_TRUE(up.done() || rig.adapter.next_deadline() <= due);
    return up.done();
  }));
  EXPECT_GE(rig.machine.time(), due);
  EXPECT_LE(rig.machine.time(), due + clock::milliseconds(1));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  expect_nothing_held(0);
}

TEST_P(sequence_deadline, of_a_teardown_does_not_reset_a_device_that_somebody_else_has) {
  ASSERT_EQ(rig.machine.mmio_read_32(0, layouts::bar0::ownership), 0u);  // somebody takes it
  operation down;
  down.set_deadline(rig.machine.time());
  rig.adapter.tear_down(down);
  EXPECT_TRUE(rig.await(down).ok());
  EXPECT_EQ(rig.adapter.info().resets, 0u);
  EXPECT_NE(rig.machine.mmio_read_32(0, layouts::bar0::ownership), 0u) << "it is still theirs";
  rig.machine.mmio_write(0, layouts::bar0::ownership, 0, 4);
}

INSTANTIATE_TEST_SUITE_P(resets, sequence_deadline, ::testing::Bool(), testing::kind_of_reset);

}  // namespace
}  // namespace freehca

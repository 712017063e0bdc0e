// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An adapter without function level reset: the reset through the register wipes configuration
// space, and whatever interrupts bring-up, the adapter is usable afterwards.
#include <array>

#include "device_rig.hpp"

namespace freehca {
namespace {

using testing::device_rig;

constexpr std::uint32_t mastering = in_process::configuration_space::command_master;

class register_reset : public ::testing::Test {
 protected:
  static in_process::machine_options without_flr(std::uint64_t reset_takes) {
    in_process::machine_options how;
    how.function_level_reset = false;
    how.reset_takes = reset_takes;
    return how;
  }
  explicit register_reset(std::uint64_t reset_takes = clock::milliseconds(100))
      : rig(without_flr(reset_takes)) {
    rig.setup.port_wait = clock::milliseconds(5);
    before = configuration();
  }
  void SetUp() override { ASSERT_TRUE(rig.adapter.open(rig.setup).ok()); }
  void TearDown() override {
    // What an adapter suffers whose bus mastering was switched off while it was up: its events get
    // nowhere.
    for (const std::string& c : rig.machine.complaints())
      EXPECT_TRUE(closed_while_up && (c.find("is not mapped any more") != std::string::npos ||
                                      c.find("no event queue takes it") != std::string::npos))
          << c;
    EXPECT_EQ(rig.machine.configuration().gateway_writes(), 0u);
    rig.adapter.close();
    EXPECT_EQ(rig.machine.dma_blocks(), 0u);
  }
  std::array<std::uint32_t, 64> configuration() {
    std::array<std::uint32_t, 64> all{};
    for (unsigned i = 0; i < all.size(); ++i) all[i] = rig.machine.configuration().read(i * 4);
    return all;
  }
  /// Starts bring-up and lets the driver look `looks` times; false: it was over before.
  bool bring_up_for(unsigned looks, operation& up) {
    rig.adapter.bring_up(up);
    unsigned seen = 0;
    EXPECT_TRUE(rig.run([&] { return up.done() || seen++ == looks; }));
    return !up.done();
  }
  void expect_bring_up_and_tear_down(const std::string& where) {
    EXPECT_TRUE(rig.bring_up().ok()) << where << ": " << rig.failure();
    EXPECT_TRUE(rig.tear_down().ok()) << where << ": " << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none()) << where;
    EXPECT_EQ(configuration(), before) << where;
  }

  device_rig rig;
  bool closed_while_up = false;
  std::array<std::uint32_t, 64> before{};
};

TEST_F(register_reset, a_bring_up_cancelled_at_any_moment_leaves_the_adapter_usable) {
  unsigned cancelled_in_reset = 0;
  bool whole = false;
  for (unsigned looks = 0; !whole; ++looks) {
    const std::string where = "look " + std::to_string(looks);
    operation up;
    whole = !bring_up_for(looks, up);
    if (whole) {
      EXPECT_TRUE(up.outcome().ok()) << rig.failure();
      EXPECT_TRUE(rig.tear_down().ok());
      break;
    }
    const bool in_reset = rig.adapter.step() == bring_up_step::reset;
    up.cancel();
    const status s = rig.await(up);
    EXPECT_TRUE(s.is(driver_error::cancelled)) << where << ": " << testing::words(s);
    cancelled_in_reset += in_reset ? 1 : 0;
    // A command that the firmware had is answered, and the rest undone.
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << where;
    EXPECT_TRUE(rig.adapter.holdings().none()) << where;
    EXPECT_EQ(configuration(), before) << where;
    expect_bring_up_and_tear_down(where);
    if (HasFailure()) return;
  }
  EXPECT_GT(cancelled_in_reset, 1u);
}

TEST_F(register_reset, a_cancelled_bring_up_ends_in_the_step_behind_the_reset) {
  operation up;
  rig.adapter.bring_up(up);
  EXPECT_TRUE(rig.run([&] { return rig.machine.counter("software_resets") == 1; }));
  up.cancel();
  EXPECT_FALSE(up.done());
  EXPECT_TRUE(rig.await(up).is(driver_error::cancelled));
  EXPECT_EQ(rig.adapter.state(), device_state::down)
      << "with the outcome: no command was in flight";
  EXPECT_EQ(rig.adapter.failure().step, bring_up_step::enable_bus_master);
  EXPECT_EQ(rig.adapter.info().resets, 1u);
  EXPECT_EQ(configuration(), before);
}

TEST_F(register_reset, closing_while_up_leaves_the_adapter_usable_for_whoever_comes_next) {
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  closed_while_up = true;
  rig.adapter.close();
  EXPECT_EQ(configuration(), before) << "bus mastering too is as it was";
  unsigned writes = 0;
  rig.machine.on_adapter_write = [&writes](std::uint64_t, std::size_t) { ++writes; };
  rig.machine.advance(clock::seconds(1));
  EXPECT_EQ(writes, 0u);

  device next;
  std::vector<std::max_align_t> storage(
      device::storage_bytes(rig.setup.budget) / sizeof(std::max_align_t) + 1);
  device_setup setup = rig.setup;
  setup.storage = reinterpret_cast<std::byte*>(storage.data());
  ASSERT_TRUE(next.open(setup).ok());
  operation up, down;
  const auto poll = [&next] {
    next.poll();
    return next.next_deadline();
  };
  next.bring_up(up);
  ASSERT_TRUE(rig.machine.run([&] { return up.done(); }, poll));
  EXPECT_TRUE(up.outcome().ok()) << name_of(next.failure().step) << ": "
                                 << testing::words(next.failure().cause);
  next.tear_down(down);
  ASSERT_TRUE(rig.machine.run([&] { return down.done(); }, poll));
  EXPECT_TRUE(down.outcome().ok());
  EXPECT_EQ(configuration(), before);
}

TEST_F(register_reset, closing_at_any_moment_leaves_an_adapter_that_comes_up_again) {
  bool whole = false;
  closed_while_up = true;
  for (unsigned looks = 0; !whole; ++looks) {
    const std::string where = "look " + std::to_string(looks);
    operation up;
    whole = !bring_up_for(looks, up);
    rig.adapter.close();
    EXPECT_TRUE(up.done()) << where;
    EXPECT_EQ(rig.machine.dma_blocks(), 0u) << where;
    EXPECT_EQ(rig.machine.configuration().read(4) & mastering, 0u) << where;
    rig.machine.advance(clock::milliseconds(200));
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok()) << where;
    expect_bring_up_and_tear_down(where);
    if (HasFailure()) return;
  }
}

struct slow_reset : register_reset {
  slow_reset() : register_reset(clock::seconds(10)) {}
};

TEST_F(slow_reset, an_adapter_that_answers_too_late_gets_its_configuration_space_back_next_time) {
  const status s = rig.bring_up();
  EXPECT_TRUE(s.is(transport_error::gone)) << testing::words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(bring_up_step::reset));
  EXPECT_TRUE(rig.bring_up().is(transport_error::gone)) << "still deaf";
  rig.machine.advance(clock::seconds(10));
  EXPECT_NE(configuration(), before);
  rig.machine.let_reset_take(clock::milliseconds(100));
  expect_bring_up_and_tear_down("after all");
}

}  // namespace
}  // namespace freehca

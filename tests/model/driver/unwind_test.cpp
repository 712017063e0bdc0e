// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A bring-up that is cancelled, pulled, or closed, at every one of its commands. Those that fail:
// every_status_test.cpp.
#include "either_reset.hpp"
#include "stray_pages.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;
using testing::device_rig;

/// A rig whose n-th command from now on (counting from 1) meets its fate.
class unwind : public testing::either_reset {
 protected:
  void SetUp() override {
    either_reset::SetUp();
    // What the adapter writes must be lent, or in use: never free.
    rig.machine.on_adapter_write = [this](std::uint64_t address, std::size_t bytes) {
      const testing::block_of_memory block(rig.adapter);
      if (address >= block.end) return;  // mailboxes
      for (std::uint64_t at = address & ~std::uint64_t{4095}; at < address + bytes; at += 4096)
        stray_writes += block.may_be_written(at) ? 0u : 1u;
    };
  }
  void TearDown() override {
    EXPECT_EQ(stray_writes, 0u);
    either_reset::TearDown();
  }

  void fail_command(unsigned n, model::command_verdict verdict) {
    seen = 0;
    struck = opcode{};
    rig.machine.adapter().judge_commands(
        [this, n, verdict](opcode code, std::uint32_t) -> model::command_verdict {
          if (++seen != n) return {};
          struck = code;
          return verdict;
        });
  }
  /// The number of commands of a whole bring-up.
  unsigned commands_of_bring_up() {
    fail_command(0, {});
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    const unsigned n = seen;
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    return n;
  }
  void expect_nothing_held(const std::string& where) {
    EXPECT_EQ(rig.adapter.state(), device_state::down) << where;
    const device_holdings h = rig.adapter.holdings();
    EXPECT_TRUE(h.none()) << where << ": pages " << h.pages << " mappings " << h.mappings
                          << " slots " << h.slots << " numbers " << h.numbers;
    EXPECT_EQ(h.in_doubt(), 0u) << where;
    EXPECT_EQ(rig.machine.counter("icm_pages"), 0u) << where;
    EXPECT_EQ(rig.machine.counter("firmware_pages"), 0u) << where;
    EXPECT_EQ(rig.machine.counter("auxiliary_pages"), 0u) << where;
  }
  std::string place(unsigned n) { return std::to_string(n) + " " + layouts::name_of(struck); }

  unsigned seen = 0;
  unsigned stray_writes = 0;
  opcode struck{};
};

TEST_P(unwind, bring_up_works_after_all_of_that) {
  for (const unsigned n : {1u, 3u, 9u, 14u}) {
    fail_command(n, {.what = fate::hold});
    EXPECT_FALSE(rig.bring_up().ok());
    EXPECT_TRUE(rig.tear_down().ok());
    fail_command(0, {});
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    ASSERT_TRUE(rig.tear_down().ok()) << rig.failure();
  }
}

TEST_P(unwind, a_bring_up_that_is_cancelled_is_undone_or_held) {
  const unsigned commands = commands_of_bring_up();
  for (unsigned n = 1; n <= commands; ++n) {
    fail_command(n, {.what = fate::hold});
    operation up;
    rig.adapter.bring_up(up);
    EXPECT_TRUE(rig.run([&] { return rig.machine.adapter().held_commands() == 1 || up.done(); }));
    up.cancel();
    EXPECT_TRUE(rig.await(up).is(driver_error::cancelled))
        << place(n) << ": " << testing::words(up.outcome());
    EXPECT_EQ(rig.adapter.state(), device_state::in_doubt) << place(n);
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << place(n);
    expect_nothing_held(place(n));
    if (HasFailure()) return;
  }
}

TEST_P(unwind, a_device_that_is_pulled_ends_everything_with_one_error) {
  const unsigned commands = commands_of_bring_up();
  for (unsigned n = 1; n <= commands; n += 3) {
    device_rig other(options());
    other.setup.port_wait = clock::milliseconds(50);
    ASSERT_TRUE(other.adapter.open(other.setup).ok());
    unsigned count = 0;
    other.machine.adapter().judge_commands([&, n](opcode, std::uint32_t) -> model::command_verdict {
      if (++count == n) other.machine.remove();
      return {};
    });
    const status s = other.bring_up();
    EXPECT_TRUE(s.is(transport_error::gone)) << n << ": " << testing::words(s);
    operation down;
    other.adapter.tear_down(down);
    EXPECT_TRUE(other.run([&] { return down.done(); })) << n;
    EXPECT_TRUE(other.adapter.holdings().none()) << n;
    EXPECT_EQ(other.adapter.state(), device_state::down);
    other.adapter.close();
    if (HasFailure()) return;
  }
}

TEST_P(unwind, closing_in_the_middle_of_anything_leaves_nothing) {
  const unsigned commands = commands_of_bring_up();
  for (unsigned n = 1; n <= commands; n += 2) {
    device_rig other(options());
    ASSERT_TRUE(other.adapter.open(other.setup).ok());
    other.machine.adapter().judge_commands(
        [&, count = 0u, n](opcode, std::uint32_t) mutable -> model::command_verdict {
          return {.what = ++count == n ? fate::hold : fate::run};
        });
    operation up;
    other.adapter.bring_up(up);
    EXPECT_TRUE(other.run([&] { return other.machine.adapter().held_commands() == 1; }));
    other.adapter.close();
    EXPECT_TRUE(up.done()) << n;
    EXPECT_EQ(other.machine.dma_blocks(), 0u);
    unsigned late_writes = 0;
    other.machine.on_adapter_write = [&](std::uint64_t, std::size_t) { ++late_writes; };
    other.machine.adapter().release_held_commands();
    other.machine.advance(clock::seconds(1));
    EXPECT_EQ(late_writes, 0u) << n;
    // One that may not master the bus any more but was not reset complains of that.
    if (options().function_level_reset) {
      EXPECT_EQ(other.machine.adapter().complaints(), 0u) << other.complaints();
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(resets, unwind, ::testing::Bool(), testing::kind_of_reset);

}  // namespace
}  // namespace freehca

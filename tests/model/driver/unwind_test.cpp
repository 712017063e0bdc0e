// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every command of bring-up and teardown fails once: refused, not answered, answered late.
#include <map>

#include "either_reset.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::command_status;
using layouts::opcode;
using testing::device_rig;

constexpr command_status statuses[] = {
    command_status::internal_error,
    command_status::bad_operation,
    command_status::bad_parameter,
    command_status::bad_system_state,
    command_status::bad_resource,
    command_status::resource_busy,
    command_status::exceeds_limits,
    command_status::bad_resource_state,
    command_status::bad_index,
    command_status::bad_nvmem,
    command_status::icm_error,
    command_status::bad_qp_state,
    command_status::bad_segment_parameters,
    command_status::region_bound,
    command_status::lam_not_present,
    command_status::bad_management_packet,
    command_status::bad_size,
    command_status::multi_function_required,
};

/// Bring-up goes on after these: firmware that does not know a command that changes nothing, and a port that
/// is asked for fewer lanes next.
bool is_tolerated(opcode code, command_status s) {
  return (code == opcode::mod_stat_cfg && s == command_status::bad_operation) ||
         (code == opcode::set_port &&
          (s == command_status::bad_size || s == command_status::exceeds_limits));
}

/// A rig whose n-th command from now on (counting from 1) meets its fate.
class unwind : public testing::either_reset {
 protected:
  void SetUp() override {
    either_reset::SetUp();
    // What the adapter writes must be lent, or in use: never free.
    rig.machine.on_adapter_write = [this](std::uint64_t address, std::size_t bytes) {
      const dma_arena& arena = rig.adapter.arena();
      const std::uint64_t end = arena.block().device_address + arena.block().bytes;
      if (address >= end) return;  // mailboxes
      for (std::uint64_t at = address & ~std::uint64_t{4095}; at < address + bytes; at += 4096)
        stray_writes += arena.is_out(at) ? 0u : 1u;
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

TEST_P(unwind, every_command_of_bring_up_refused_with_every_status) {
  const unsigned commands = commands_of_bring_up();
  ASSERT_GT(commands, 20u);
  std::map<opcode, unsigned> tried;
  for (unsigned n = 1; n <= commands; ++n) {
    // All statuses for the first command of a kind, one for each that follows.
    bool first = true;
    for (unsigned i = 0; i < std::size(statuses); ++i) {
      if (!first && tried[struck] > 1 && (n + i) % std::size(statuses) != 0) continue;
      const command_status s = statuses[i];
      fail_command(n, {fate::refuse, s});
      const status outcome = rig.bring_up();
      if (first) ++tried[struck];
      first = false;
      const std::string where = place(n) + " with " + layouts::name_of(s);
      if (is_tolerated(struck, s)) {
        EXPECT_TRUE(outcome.ok()) << where;
        EXPECT_TRUE(rig.tear_down().ok()) << where;
      } else {
        EXPECT_TRUE(outcome.is(s)) << where << ": " << testing::words(outcome);
        EXPECT_EQ(outcome.where(), static_cast<unsigned>(rig.adapter.failure().step)) << where;
        EXPECT_EQ(rig.adapter.failure().cause.where(), static_cast<unsigned>(struck)) << where;
        EXPECT_STRNE(name_of(rig.adapter.failure().step), "") << where;
      }
      expect_nothing_held(where);
      if (HasFailure()) return;
    }
  }
}

TEST_P(unwind, every_command_of_bring_up_not_answered_until_late) {
  const unsigned commands = commands_of_bring_up();
  for (unsigned n = 1; n <= commands; ++n) {
    fail_command(n, {.what = fate::hold});
    const status outcome = rig.bring_up();
    EXPECT_TRUE(outcome.is(transport_error::timeout))
        << place(n) << ": " << testing::words(outcome);
    EXPECT_EQ(rig.adapter.failure().cause.where(), static_cast<unsigned>(struck)) << place(n);
    EXPECT_EQ(rig.adapter.state(), device_state::in_doubt) << place(n);
    // Held as long as it takes.
    rig.run_for(clock::seconds(1));
    EXPECT_EQ(rig.adapter.state(), device_state::in_doubt) << place(n);
    EXPECT_EQ(rig.adapter.holdings().slots_in_doubt, 1u) << place(n);
    const bool lends =
        struck == opcode::map_fa || struck == opcode::map_icm_aux || struck == opcode::map_icm;
    if (lends) {
      EXPECT_GT(rig.adapter.holdings().pages_in_doubt, 0u) << place(n);
    }
    // The adapter does it all after all.
    ASSERT_EQ(rig.machine.adapter().held_commands(), 1u) << place(n);
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << place(n);
    expect_nothing_held(place(n));
    if (HasFailure()) return;
  }
}

TEST_P(unwind, every_command_of_bring_up_not_answered_until_a_reset) {
  const unsigned commands = commands_of_bring_up();
  for (unsigned n = 1; n <= commands; ++n) {
    fail_command(n, {.what = fate::hold});
    EXPECT_TRUE(rig.bring_up().is(transport_error::timeout)) << place(n);
    EXPECT_EQ(rig.adapter.state(), device_state::in_doubt) << place(n);
    EXPECT_TRUE(rig.tear_down().ok()) << place(n) << ": " << rig.failure();
    rig.machine.adapter().release_held_commands();
    rig.run_for(clock::milliseconds(10));
    expect_nothing_held(place(n));
    if (HasFailure()) return;
  }
}

TEST_P(unwind, every_command_of_bring_up_refused_late) {
  const unsigned commands = commands_of_bring_up();
  for (unsigned n = 1; n <= commands; ++n) {
    fail_command(n, {fate::hold_and_refuse, command_status::internal_error});
    EXPECT_TRUE(rig.bring_up().is(transport_error::timeout)) << place(n);
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << place(n);
    expect_nothing_held(place(n));
    if (HasFailure()) return;
  }
}

TEST_P(unwind, every_command_of_teardown_refused_or_not_answered_ends_in_a_reset) {
  fail_command(0, {});
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  const unsigned before = seen;
  ASSERT_TRUE(rig.tear_down().ok());
  const unsigned commands = seen - before;
  ASSERT_GT(commands, 10u);
  for (const fate f : {fate::refuse, fate::hold}) {
    for (unsigned n = 1; n <= commands; ++n) {
      fail_command(0, {});
      ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
      const std::uint64_t resets = rig.adapter.info().resets;
      fail_command(n, {f, command_status::internal_error});
      const status outcome = rig.tear_down();
      EXPECT_FALSE(outcome.ok()) << place(n);
      EXPECT_EQ(rig.adapter.info().resets, resets + 1) << place(n);
      rig.machine.adapter().release_held_commands();
      expect_nothing_held(place(n));
      if (HasFailure()) return;
    }
  }
}

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

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every command of every sequence fails once: refused with every status that there is, answered
// late in both ways, never answered. No status is left out: nothing says which of them a command of
// real firmware cannot give.
#include <iostream>

#include "hoard.hpp"
#include "stage.hpp"
#include "stray_pages.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;
using layouts::command_status;
using layouts::opcode;

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

/// Bring-up goes on after these: firmware that does not know a command that changes nothing, and a
/// port that is asked for fewer lanes next.
bool is_tolerated(opcode code, command_status s) {
  return (code == opcode::mod_stat_cfg && s == command_status::bad_operation) ||
         (code == opcode::set_port &&
          (s == command_status::bad_size || s == command_status::exceeds_limits));
}

struct way {
  bool interrupts, function_level_reset;
};

class every_command : public ::testing::TestWithParam<way> {
 protected:
  every_command() : on(GetParam().interrupts, GetParam().function_level_reset) {
    // What the adapter writes must be lent, or in use: never free.
    on.rig.machine.on_adapter_write = [this](std::uint64_t address, std::size_t bytes) {
      const testing::block_of_memory block(on.rig.adapter);
      if (address < block.begin || address >= block.end) return;
      for (std::uint64_t at = address & ~std::uint64_t{4095}; at < address + bytes; at += 4096)
        stray_writes += block.may_be_written(at) ? 0u : 1u;
    };
  }
  ~every_command() override {
    EXPECT_EQ(stray_writes, 0u);
    EXPECT_EQ(on.rig.machine.adapter().complaints(), 0u);
  }

  /// Runs it with its n-th command failed; false: it has fewer.
  bool strike(const command_sequence& s, unsigned n, model::command_verdict verdict) {
    if (!s.of_the_device) on.up();
    empty = counts(on.rig);
    s.prepare(on);
    before = counts(on.rig);
    resets = on.rig.adapter.info().resets;
    on.fail_command(n, verdict, s.of_the_device);
    const stage::started op = s.start(on);
    outcome = on.end_of(*op);
    on.fail_none();
    const bool was_struck = on.struck != opcode{};
    where = s.name + ", command " + std::to_string(n) + " " + layouts::name_of(on.struck);
    if (was_struck) ++cases;
    else EXPECT_TRUE(outcome.ok()) << where << ": " << words(outcome);
    return was_struck;
  }
  /// Somebody takes all that is left: the late answer lands in nothing of it.
  void late_answer_lands_in_nothing_that_was_free() {
    hoard rest(on.rig.adapter);
    EXPECT_GT(rest.pages(), 0u);
    on.rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(on.rig.run([&] { return on.rig.adapter.commands().slots_in_use() == 0; },
                           clock::seconds(1)))
        << where;
    on.run_for(clock::milliseconds(1));
    EXPECT_TRUE(rest.untouched()) << where;
    rest.give_back();
    on.run_for(clock::milliseconds(1));
  }
  /// Each command of each sequence in turn, until something does not hold.
  void each_command(const std::function<bool(const command_sequence&, unsigned)>& fails) {
    for (const command_sequence& s : all_sequences()) {
      // To objects it makes little difference.
      if (!s.of_the_device && GetParam().interrupts != GetParam().function_level_reset) continue;
      ++sequences;
      unsigned n = 1;
      while (fails(s, n)) {
        if (HasFailure()) return;
        ++n;
      }
      EXPECT_GT(n, 1u) << s.name << " has no commands";
      if (HasFailure()) return;
    }
    on.down();
    std::cout << cases << " cases, " << sequences << " sequences\n";
  }
  void expect_nothing_held() {
    EXPECT_EQ(on.rig.adapter.state(), device_state::down) << where;
    const device_holdings h = on.rig.adapter.holdings();
    EXPECT_TRUE(h.none()) << where << ": pages " << h.pages << " mappings " << h.mappings
                          << " slots " << h.slots << " numbers " << h.numbers;
    EXPECT_EQ(h.in_doubt(), 0u) << where;
    for (const char* lent : {"icm_pages", "firmware_pages", "auxiliary_pages"})
      EXPECT_EQ(on.rig.machine.counter(lent), 0u) << where;
  }
  void forget_and_clear() {
    on.forget_stale();
    on.clear();
  }
  /// What was not given back comes back by the reset.
  void expect_reset_helps() {
    forget_and_clear();
    EXPECT_TRUE(on.rig.objects.holdings().none()) << where;
    EXPECT_GT(on.rig.adapter.holdings().pages, 0u) << where;
    on.down(driver_error::busy);  // whoever tears down is told of it
    expect_nothing_held();
  }

  stage on;
  std::vector<std::uint64_t> empty,
      before;  // with nothing on the device, and when the sequence began
  std::uint64_t resets = 0;
  unsigned stray_writes = 0, cases = 0, sequences = 0;
  status outcome;
  std::string where;
};

TEST_P(every_command, refused_with_every_status_is_undone_at_once) {
  each_command([this](const command_sequence& s, unsigned n) {
    for (const command_status with : statuses) {
      if (!strike(s, n, {fate::refuse, with})) return false;
      where += std::string(" with ") + layouts::name_of(with);
      const bool tolerated = is_tolerated(on.struck, with);
      EXPECT_TRUE(tolerated ? outcome.ok() : outcome.is(with)) << where << ": " << words(outcome);
      if (!s.of_the_device) {
        if (on.struck == opcode::unmap_icm) expect_reset_helps();
        else EXPECT_EQ(counts(on.rig), before) << where;
      } else if (!tolerated) {
        const sequence_failure& why = on.rig.adapter.failure();
        EXPECT_EQ(outcome.where(), static_cast<unsigned>(why.step)) << where;
        EXPECT_EQ(why.cause.where(), static_cast<unsigned>(on.struck)) << where;
        EXPECT_STRNE(name_of(why.step), "") << where;
        if (s.name == "teardown") {
          EXPECT_EQ(on.rig.adapter.info().resets, resets + 1) << where << ": it does not let go";
        }
        expect_nothing_held();
      }
      if (HasFailure()) return false;
    }
    return true;
  });
  EXPECT_GT(cases, GetParam().interrupts == GetParam().function_level_reset ? 2000u : 1000u);
}

TEST_P(every_command, answered_late_is_held_until_then) {
  each_command([this](const command_sequence& s, unsigned n) {
    for (const fate f : {fate::hold, fate::hold_and_refuse}) {
      if (!strike(s, n, {.what = f})) return false;
      where += f == fate::hold ? ", done late" : ", refused late";
      EXPECT_TRUE(outcome.is(transport_error::timeout)) << where << ": " << words(outcome);
      if (s.name == "teardown") {
        EXPECT_EQ(on.rig.adapter.info().resets, resets + 1) << where;
        on.rig.machine.adapter().release_held_commands();
        expect_nothing_held();
        continue;
      }
      const device_holdings held = on.rig.adapter.holdings();
      EXPECT_EQ(held.slots_in_doubt, 1u) << where;
      EXPECT_EQ(on.rig.machine.adapter().held_commands(), 1u) << where;
      const opcode c = on.struck;
      if (c == opcode::map_fa || c == opcode::map_icm_aux || c == opcode::map_icm) {
        EXPECT_GT(held.pages_in_doubt, 0u) << where;
      } else if (!s.of_the_device && s.names_an_object && c != opcode::query_qp &&
                 c != opcode::unmap_icm) {
        EXPECT_EQ(held.numbers_in_doubt, 1u) << where;
      }
      if (s.of_the_device) {
        EXPECT_EQ(on.rig.adapter.state(), device_state::in_doubt) << where;
        // Held as long as it takes.
        on.run_for(clock::milliseconds(200));
        EXPECT_EQ(on.rig.adapter.holdings().slots_in_doubt, 1u) << where;
        on.rig.machine.adapter().release_held_commands();
        EXPECT_TRUE(on.rig.run([&] { return on.rig.adapter.state() == device_state::down; }))
            << where;
        expect_nothing_held();
      } else {
        late_answer_lands_in_nothing_that_was_free();
        if (c == opcode::unmap_icm && f == fate::hold_and_refuse) expect_reset_helps();
        else forget_and_clear();
        EXPECT_TRUE(!on.rig.objects.is_open() ||
                    on.rig.run([&] { return counts(on.rig) == empty; }, clock::seconds(1)))
            << where;
      }
      if (HasFailure()) return false;
    }
    return true;
  });
  EXPECT_GT(cases, GetParam().interrupts == GetParam().function_level_reset ? 200u : 100u);
}

TEST_P(every_command, never_answered_is_held_until_the_reset) {
  each_command([this](const command_sequence& s, unsigned n) {
    // Done without a word, or not done until after the reset.
    if (!strike(s, n, {.what = n % 2 == 0 ? fate::lose_answer : fate::hold})) return false;
    EXPECT_TRUE(outcome.is(transport_error::timeout)) << where << ": " << words(outcome);
    if (s.name != "teardown") {
      // What other commands take back, they may do behind the end of the operation.
      on.run_for(clock::milliseconds(1));
      const std::vector<std::uint64_t> held = counts(on.rig);
      EXPECT_EQ(on.rig.adapter.holdings().slots_in_doubt, 1u) << where;
      on.run_for(clock::milliseconds(200));
      EXPECT_EQ(counts(on.rig), held) << where << ": not held for good";
      on.down();
    }
    on.rig.machine.adapter().release_held_commands();
    on.run_for(clock::milliseconds(1));
    expect_nothing_held();
    return !HasFailure();
  });
  EXPECT_GT(cases, GetParam().interrupts == GetParam().function_level_reset ? 100u : 50u);
}

INSTANTIATE_TEST_SUITE_P(ways, every_command,
                         ::testing::Values(way{true, true}, way{true, false}, way{false, true},
                                           way{false, false}),
                         [](const auto& of) {
                           return std::string(of.param.interrupts ? "by_interrupts" : "polled") +
                                  (of.param.function_level_reset ? "_with_function_level_reset"
                                                                 : "_without");
                         });

}  // namespace
}  // namespace freehca

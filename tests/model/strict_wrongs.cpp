// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What every command can have wrong.
#include "strict_wrongs.hpp"

#include "command/command_rules.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// An address that no memory answers at, aligned as mailboxes are.
constexpr std::uint64_t nowhere = 0x1000;

/// Before each stage that the command needs: the same answer everywhere, or the first other one.
command_status too_early(strict_world& world, call& c) {
  const stage needed = good_call_of(c.what).at;
  command_status first = command_status::ok;
  for (const stage s : {stage::cold, stage::lent, stage::firmware, stage::context_memory}) {
    if (s >= needed) break;
    // Then what they work on is missing, which has rows of its own.
    if (s == stage::firmware && needed == stage::context_memory) continue;
    world.go_to(s);
    const command_status now = world.issue(c);
    if (first == command_status::ok) first = now;
    if (now != first) return now;
  }
  if (needed == stage::running) {
    world.go_to(stage::running);
    EXPECT_EQ(world.driver->command(opcode::close_hca).status, command_status::ok);
    if (const command_status now = world.issue(c); now != first) return now;
  }
  return first;
}

/// The first command on the object is held while the second comes, and ends well after it.
command_status while_busy(strict_world& world, call& c) {
  using verdict = command_verdict;
  world.driver->command(opcode::map_eq, 1u << 10, strict_world::eqn);
  bool first = true;
  world.hca->judge_commands([&first](opcode, std::uint32_t) {
    return verdict{std::exchange(first, false) ? verdict::fate::hold : verdict::fate::run};
  });
  const std::uint64_t failed = world.driver->counter_named("commands_failed");
  std::copy(c.mailbox.begin(), c.mailbox.end(), world.host->at(world.driver->input));
  world.driver->post(c.what, c.mailbox.empty() ? c.immediate : c.in, c.modifier, c.opcode_modifier,
                     c.out, 7, true);
  world.host->run();
  const command_status s = world.issue(c);
  world.hca->release_held_commands();
  world.host->run();
  world.hca->judge_commands(nullptr);
  EXPECT_EQ(world.driver->counter_named("commands_failed"), failed + 1);
  return s;
}

}  // namespace

void add_general_wrongs(std::vector<wrong_call>& to) {
  for (const good_call& good : good_calls()) {
    const opcode o = good.what;
    const auto add = [&to, o](const char* how, auto wrong, bool repairs = true) {
      to.push_back({o, how, wrong, repairs});
    };
    if (good.at != stage::cold) add("before_its_time", too_early, false);
    add("opcode_modifier_15", [](strict_world& w, call& c) { return w.issue(c.by(15)); });
    command probe{};
    probe.opcode = o;
    if (object_of(probe)) add("object_busy", while_busy, false);
    // Those whose mailboxes come with a modifier other than 0.
    if (o == opcode::mod_stat_cfg) probe.opcode_modifier = 2;
    if (o == opcode::virt_port_map) probe.opcode_modifier = 1;
    const mailboxes has = mailboxes_of(probe);
    if (has.input) {
      add("input_mailbox_off_its_alignment",
          [](strict_world& w, call& c) { return c.in += 8, w.issue(c); });
      add("input_mailbox_that_the_bus_refuses",
          [](strict_world& w, call& c) { return c.in = nowhere, w.issue(c); });
    }
    if (has.output) {
      add("output_mailbox_off_its_alignment",
          [](strict_world& w, call& c) { return c.out += 8, w.issue(c); });
      add("output_mailbox_that_the_bus_refuses",
          [](strict_world& w, call& c) { return c.out = nowhere, w.issue(c); });
    }
  }
}

std::vector<wrong_call> wrong_calls() {
  std::vector<wrong_call> all;
  add_general_wrongs(all);
  add_bring_up_wrongs(all);
  add_object_wrongs(all);
  add_queue_pair_wrongs(all);
  add_port_wrongs(all);
  add_settings_wrongs(all);
  return all;
}

}  // namespace freehca::model::test

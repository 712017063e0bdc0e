// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/model/rules.hpp>

#include <algorithm>
#include <array>

#include "basis/rules_of_commands.hpp"
#include "basis/rules_of_the_data_path.hpp"

namespace freehca::model {

namespace {

constexpr std::string_view chosen;

constexpr auto rules_of_the_interface = std::to_array<rule_entry>({
    {rule::register_access, "register-access",
     "registers of BAR 0 are accessed by 4 or 8 aligned bytes within the BAR", reaction::takes,
     chosen},
    {rule::register_place, "register-place", "what is written in BAR 0 is a register",
     reaction::takes, chosen},
    {rule::reset_value, "reset-value", "the software reset register is written with its lowest bit",
     reaction::takes, "captures: iPXE writes 0x01000001, others 1"},
    {rule::register_in_reset, "register-in-reset",
     "registers are left alone until a software reset has ended", reaction::takes,
     "Linux mlx4/reset.c mlx4_reset waits a second"},
    {rule::command_register_busy, "command-register-busy",
     "the command register is left alone while GO is set", reaction::takes,
     "Linux mlx4/cmd.c mlx4_cmd_post waits for GO"},
    {rule::command_register_words, "command-register-words",
     "the command register is written by 32-bit words", reaction::takes,
     "Linux mlx4/cmd.c mlx4_cmd_post"},
    {rule::command_go, "command-go", "the last word of the command register is written with GO",
     reaction::takes, "Linux mlx4/cmd.c mlx4_cmd_post"},
    {rule::completion_by_event, "completion-by-event",
     "a command ends by an event only when an event queue takes command completions",
     reaction::takes, "Linux mlx4/eq.c maps them before mlx4_cmd_use_events"},
    {rule::known_command, "known-command", "the adapter offers the command", reaction::refuses,
     "thh tcqm.c THH_cqm_resize_cq: BAD_OP is firmware that has not got it"},
    {rule::opcode_modifier, "opcode-modifier", "the command has that opcode modifier",
     reaction::takes, chosen},
    {rule::system_state, "system-state", "commands come in the order of the system's states",
     reaction::refuses, "stormnic spec 1.6; thh tqpm.c THH_modify_cmdrc2rc: BAD_SYS_STATE"},
    {rule::mailbox_alignment, "mailbox-alignment", "a mailbox is aligned to 4 KiB", reaction::takes,
     "stormnic spec 2.5; Linux mlx4/cmd.c mlx4_cmd_init"},
    {rule::object_busy, "object-busy", "commands on one object come one after the other",
     reaction::refuses, "thh tqpm.c THH_modify_cmdrc2rc, tmrwm.c: RESOURCE_BUSY"},
});

/// All, in the order of the enumeration.
constexpr auto table = [] {
  std::array<rule_entry, static_cast<std::size_t>(rule::count)> all{};
  auto to = all.begin();
  const auto add = [&to](const auto& some) { to = std::copy(some.begin(), some.end(), to); };
  add(rules_of_the_interface);
  add(rules_of_commands);
  add(rules_of_the_data_path);
  return all;
}();
static_assert(table.size() == rules_of_the_interface.size() + rules_of_commands.size() +
                                  rules_of_the_data_path.size());

static_assert(table.size() <= rule_set::room);

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].what != static_cast<rule>(i) || table[i].name.empty() || table[i].demand.empty())
      return false;
    for (std::size_t j = 0; j < i; ++j)
      if (table[j].name == table[i].name) return false;
  }
  return true;
}
static_assert(in_order(), "a row for each rule, in their order, each with a name of its own");

}  // namespace

const rule_entry& entry_of(rule r) {
  return table[static_cast<std::size_t>(r)];
}

std::optional<rule> rule_named(std::string_view name) {
  for (const rule_entry& e : table)
    if (e.name == name) return e.what;
  return std::nullopt;
}

std::optional<rule_set> rule_set::named(std::string_view text) {
  rule_set set;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto r = rule_named(text.substr(0, comma));
    if (!r) return std::nullopt;
    set.add(*r);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return set;
}

}  // namespace freehca::model

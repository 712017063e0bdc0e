// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/model/rules.hpp>

#include <array>

namespace freehca::model {

namespace {

constexpr std::string_view chosen;

constexpr std::array<rule_entry, static_cast<std::size_t>(rule::count)> table{{
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
     "Linux mlx4/cmd.c CMD_STAT_BAD_OP"},
    {rule::opcode_modifier, "opcode-modifier", "the command has that opcode modifier",
     reaction::takes, chosen},
    {rule::opcode_modifier_chooses, "opcode-modifier-chooses",
     "the opcode modifier chooses one of the command's operations", reaction::refuses,
     "Linux mlx4/cmd.c CMD_STAT_BAD_OP: opcode modifier not supported"},
    {rule::system_state, "system-state", "commands come in the order of the system's states",
     reaction::refuses, "Linux mlx4/cmd.c CMD_STAT_BAD_SYS_STATE"},
    {rule::mailbox_alignment, "mailbox-alignment", "a mailbox is aligned to 4 KiB", reaction::takes,
     "Linux mlx4/cmd.c: mailboxes come from a pool with that alignment"},
    {rule::object_busy, "object-busy", "commands on one object come one after the other",
     reaction::refuses, "Linux mlx4/cmd.c CMD_STAT_RESOURCE_BUSY"},

    {rule::uar_access, "uar-access",
     "doorbells are written by 4 or 8 aligned bytes within BAR 2, and not read", reaction::takes,
     chosen},
    {rule::uar_before_init_hca, "uar-before-init-hca", "doorbells are rung after INIT_HCA",
     reaction::takes, chosen},
    {rule::uar_place, "uar-place", "what is written in a UAR page is a doorbell", reaction::takes,
     chosen},
    {rule::blueflame_offered, "blueflame-offered", "BlueFlame is used where QUERY_DEV_CAP has it",
     reaction::takes, "Linux mlx4/fw.c mlx4_QUERY_DEV_CAP: bf"},
    {rule::cq_doorbell_halves, "cq-doorbell-halves",
     "both halves of a completion queue's doorbell are written, the first one first",
     reaction::takes, "Linux include/linux/mlx4/cq.h mlx4_cq_arm"},
    {rule::doorbell_of_own_uar, "doorbell-of-own-uar",
     "a queue's doorbell is rung in the UAR page of its context", reaction::takes,
     "IBTA 10.2.3; Linux mlx4/qp.c: usr_page"},
    {rule::eq_doorbell_owner, "eq-doorbell-owner",
     "an event queue's doorbell is rung while hardware owns the queue", reaction::takes, chosen},
    {rule::eq_consumer_index, "eq-consumer-index",
     "the consumer index of an event queue does not pass its producer", reaction::takes, chosen},
    {rule::cq_doorbell_owner, "cq-doorbell-owner",
     "a completion queue's doorbell is rung while hardware owns the queue", reaction::takes,
     chosen},
    {rule::cq_consumer_index, "cq-consumer-index",
     "the consumer index of a completion queue does not pass its producer", reaction::takes,
     chosen},
    {rule::send_doorbell_state, "send-doorbell-state",
     "a send queue's doorbell is rung after the queue pair has left the reset state",
     reaction::takes, "IBTA 10.3.1.1: no requests are posted in Reset"},

    {rule::context_stays_mapped, "context-stays-mapped",
     "the context memory of what hardware owns stays mapped and untouched", reaction::takes,
     "Linux mlx4/icm.c: tables are freed after their objects"},
    {rule::eq_has_room, "eq-has-room", "an event queue is consumed before it is full",
     reaction::takes, "Linux mlx4/eq.c: consumes at least every MLX4_NUM_SPARE_EQE entries"},
    {rule::eq_reachable, "eq-reachable", "the adapter can write the buffer of an event queue",
     reaction::takes, chosen},
    {rule::cq_reports_to_eq, "cq-reports-to-eq",
     "a completion queue's event queue lives as long as it does", reaction::takes,
     "Linux mlx4/main.c: event queues are freed after completion queues"},
    {rule::receive_queue, "receive-queue",
     "a receive queue's ring and count are as hardware left them", reaction::takes, chosen},
    {rule::mlx_headers, "mlx-headers", "the headers of an MLX send say its length", reaction::takes,
     "Linux hw/mlx4/qp.c build_mlx_header"},
    {rule::packet_has_transport, "packet-has-transport",
     "a packet that is sent has a base transport header", reaction::takes, "IBTA 5.2"},
}};

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

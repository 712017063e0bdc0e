// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The rules that hardware has for its driver, each with the source that says so. What the adapter does when one is
// broken follows from its row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <freehca/model/rule_set.hpp>

namespace freehca::model {

/// By area; within an area in the order of the table in rules.cpp.
enum class rule : std::uint16_t {
  // Registers and the command interface.
  register_access,
  register_place,
  reset_value,
  register_in_reset,
  command_register_busy,
  command_register_words,
  command_go,
  completion_by_event,
  known_command,
  opcode_modifier,
  opcode_modifier_chooses,
  system_state,
  mailbox_alignment,
  object_busy,
  // Doorbells.
  uar_access,
  uar_before_init_hca,
  uar_place,
  blueflame_offered,
  cq_doorbell_halves,
  doorbell_of_own_uar,
  eq_doorbell_owner,
  eq_consumer_index,
  cq_doorbell_owner,
  cq_consumer_index,
  send_doorbell_state,
  // Queues and contexts.
  context_stays_mapped,
  eq_has_room,
  eq_reachable,
  cq_reports_to_eq,
  receive_queue,
  mlx_headers,
  packet_has_transport,
  count
};

/// What hardware does with what breaks a rule.
enum class reaction : std::uint8_t {
  refuses,  ///< a source says that hardware refuses it
  takes,    ///< no source says so: it is taken, and complained of; refused with options::strict
};

struct rule_entry {
  rule what;
  std::string_view name;    ///< what properties, texts and documentation call it
  std::string_view demand;  ///< what is wanted, as a sentence without a full stop
  reaction hardware;
  std::string_view source;  ///< of the rule, or of the refusal where there is one; empty: chosen
};

const rule_entry& entry_of(rule r);

/// The rule of that name.
std::optional<rule> rule_named(std::string_view name);

}  // namespace freehca::model

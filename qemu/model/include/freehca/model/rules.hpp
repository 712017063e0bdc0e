// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The rules that hardware has for its driver, each with the source that says so. What the adapter
// does when one is broken follows from its row.
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
  system_state,
  mailbox_alignment,
  object_busy,
  // Commands: the interface.
  known_operation,
  mailbox_readable,
  mailbox_writable,
  command_order,
  reserved_bits,
  capability_reported,
  input_modifier,
  // Commands: numbers, ownership, context memory.
  number_in_table,
  number_not_reserved,
  hardware_owns,
  software_owns,
  own_number,
  objects_at_once,
  host_memory,
  context_lent,
  buffer_lent,
  record_readable,
  // Commands: lending memory.
  chunk_count,
  chunk_size,
  chunk_alignment,
  chunk_writable,
  pages_per_map,
  icm_range,
  icm_page_free,
  icm_page_lent,
  icm_size,
  auxiliary_pages,
  firmware_pages,
  profile_limits,
  profile_reserves,
  table_place,
  // Commands: queues.
  page_size,
  uar_page,
  eq_size,
  eq_vector,
  eq_state,
  eq_exists,
  eq_exists_for_events,
  cq_size,
  cq_state,
  cq_has_no_error,
  cq_room,
  srq_size,
  srq_stride,
  srq_limit,
  srq_unused,
  // Commands: regions.
  region_key,
  region_unbound,
  region_page_size,
  region_form,
  window_form,
  region_has_no_windows,
  mtt_count,
  mtt_place,
  // Commands: queue pairs.
  qp_state,
  qp_service,
  qp_cq,
  qp_srq,
  qp_queue_size,
  qp_send_stride,
  qp_port,
  qp_mtu,
  qp_responder_resources,
  qp_migration,
  special_qps,
  // Commands: ports, groups, steering.
  port_number,
  port_closed,
  port_type,
  port_shape,
  port_lanes,
  port_tables,
  port_buffers,
  port_setting,
  management_packet,
  group_members,
  steering_on,
  steering_rule,
  steering_rule_exists,
  steering_room,
  steered_range,
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
  // Work requests and their doorbells.
  send_doorbell_rung,
  send_doorbell_entry,
  send_entry_free,
  send_entry_kept,
  prefetched_stale,
  blueflame_whole,
  blueflame_as_in_ring,
  blueflame_half,
  uar_reserved,
  command_toggle,
  inline_segment,
  strong_order,
  address_domain,
  mlx_rlid,
  mlx_sl,
  mlx_vl15,
  mlx_icrc,
  receive_record,
  receive_chain,
  receive_segments,
  // Completion queues, and what stands beneath others.
  cq_arm_record,
  cq_arm_number,
  cq_record,
  cq_has_room,
  cq_reachable,
  cq_in_use,
  region_in_use,
  rss_reported,
  count
};

/// What hardware does with what breaks a rule.
enum class reaction : std::uint8_t {
  refuses,  ///< a source says that hardware refuses it
  takes,    ///< no source says so: it is taken, and complained of; refused with options::strict
};

struct rule_entry {
  rule what{};
  std::string_view name;    ///< what properties, texts and documentation call it
  std::string_view demand;  ///< what is wanted, as a sentence without a full stop
  reaction hardware = reaction::takes;
  std::string_view source;  ///< of the rule, or of the refusal where there is one; empty: chosen
};

const rule_entry& entry_of(rule r);

/// The rule of that name.
std::optional<rule> rule_named(std::string_view name);

}  // namespace freehca::model

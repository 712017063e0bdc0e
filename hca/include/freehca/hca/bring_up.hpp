// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/status.hpp>

namespace freehca {

/// The steps of bring-up, in order. Teardown undoes them in the opposite order.
enum class bring_up_step : std::uint8_t {
  take_ownership,
  reset,
  enable_bus_master,
  open_commands,
  query_fw,
  map_fa,
  run_fw,
  mod_stat_cfg,
  query_dev_cap,
  query_adapter,
  plan_context,
  set_icm_size,
  map_icm_aux,
  map_reserved,
  init_hca,
  query_hca,
  open_numbers,
  arm_interrupts,
  create_event_queues,
  map_events,
  use_events,
  query_ports,
  set_ports,
  init_ports,
  mad_demux,
  wait_for_ports,
};
inline constexpr unsigned bring_up_steps = 26;

/// The step at which the last bring-up or teardown stopped, and the reason.
struct sequence_failure {
  bring_up_step step{};
  /// The status that the function or the command returned. If its origin is the firmware, `where`
  /// is the opcode. If its origin is the transport, `where` is the opcode of the command that
  /// failed, the platform's code with transport_error::refused, and no opcode if there was no
  /// command.
  status cause;
  /// If `cause` is driver_error::exceeds_limits, `cause.where()` is a budget::item. The device
  /// asked for `asked` of it, and the budget has `bound`.
  std::uint64_t asked = 0, bound = 0;
};

}  // namespace freehca

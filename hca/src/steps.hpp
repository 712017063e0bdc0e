// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps of bring-up. Each is a function that the sequence calls again and again until it says
// that it is done or failed; between calls the sequence keeps its place. An undo function takes
// back what is there by the word of the sequence, or of its own parts, so that it serves a step
// that was done, one that failed half way, and one that never began.
#pragma once

#include <freehca/hca/device.hpp>

namespace freehca {

struct device::steps {
  struct outcome {
    bool finished = false;
    status error;
  };
  static constexpr outcome wait{false, {}};
  static constexpr outcome done{true, {}};
  static outcome fail(status why) { return {true, why}; }

  struct step {
    const char* name;
    outcome (*run)(device&);
    outcome (*undo)(device&);  // null: nothing to take back
  };
  static const step table[bring_up_steps];

  /// Sends the command made last and goes to `phase` when it is done.
  static outcome send(device& d, unsigned phase) {
    d.sequence_.send(d.control_.commands, phase);
    return wait;
  }
  static outcome send_with_effect(device& d, unsigned phase, bool& effect) {
    d.sequence_.send_with_effect(d.control_.commands, phase, effect);
    return wait;
  }
  static outcome await(device& d, unsigned phase, operation& what) {
    d.sequence_.phase = phase;
    d.sequence_.await(what);
    return wait;
  }
  static outcome later(device& d, std::uint64_t nanoseconds) {
    d.sequence_.wake_at(clock::after(d.setup_.platform.now(), nanoseconds));
    return wait;
  }
  static outcome again(device& d, unsigned phase) {
    d.sequence_.phase = phase;
    d.sequence_.wake_at(0);
    return wait;
  }

  /// Where a reset stands. From `rest` on the device has been told, and may be deaf or without its
  /// configuration space: device_sequence::committed.
  enum reset_phase : unsigned { reset_begin, take_flash, rest, registers_answer, owners_let_go };

  // steps_reset.cpp
  static outcome take_ownership(device& d);
  static outcome release_ownership(device& d);
  static outcome reset(device& d);
  static outcome enable_bus_master(device& d);
  static outcome disable_bus_master(device& d);
  static outcome open_commands(device& d);
  static outcome close_commands(device& d);

  // steps_firmware.cpp
  static outcome query_fw(device& d);
  static outcome map_fa(device& d);
  static outcome unmap_fa(device& d);
  static outcome run_fw(device& d);
  static outcome mod_stat_cfg(device& d);
  static outcome query_dev_cap(device& d);
  static outcome query_adapter(device& d);
  static void find_error_buffer(device& d, unsigned bar, std::uint64_t at, std::uint64_t words);
  static outcome exceeds(device& d, budget::item what, std::uint64_t asked, std::uint64_t bound);
  template <class Map>
  static outcome lend_area(device& d, lent_area& area, std::uint32_t pages);
  template <class Unmap>
  static outcome take_back_area(device& d, lent_area& area);

  // steps_context.cpp
  static outcome plan_context(device& d);
  static outcome forget_plan(device& d);
  static outcome set_icm_size(device& d);
  static outcome map_icm_aux(device& d);
  static outcome unmap_icm_aux(device& d);
  static outcome map_reserved(device& d);
  static outcome unmap_reserved(device& d);
  static outcome init_hca(device& d);
  static outcome close_hca(device& d);
  static outcome query_hca(device& d);
  static std::uint32_t reserved_objects(const device& d, context_group g);

  // steps_events.cpp
  static outcome open_numbers(device& d);
  static outcome close_numbers(device& d);
  static outcome arm_interrupts(device& d);
  static outcome disarm_interrupts(device& d);
  static outcome create_event_queues(device& d);
  static outcome destroy_event_queues(device& d);
  static outcome map_events(device& d);
  static outcome unmap_events(device& d);
  static outcome use_events(device& d);
  static outcome use_polling(device& d);
  static std::uint64_t event_mask(const device& d);
  static status write_translation(device& d, const event_queue_parts& q);
  static void put_at_risk(device& d, const event_queue_parts& q);

  // steps_ports.cpp
  static outcome query_ports(device& d);
  static outcome set_ports(device& d);
  static outcome init_ports(device& d);
  static outcome close_ports(device& d);
  static outcome mad_demux(device& d);
  static outcome wait_for_ports(device& d);
  static bool is_awaited(const device& d, unsigned port);
  static bool next_infiniband_port(device& d);
  static outcome start_port_query(device& d, unsigned phase);
};

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps of bring-up. Each is a function that the sequence calls again and again until it says
// that it is done or failed; between calls it keeps its place in phase_ and item_. An undo function
// takes back what flags say is there, so that it serves a step that was done, one that failed half
// way, and one that never began.
#pragma once

#include <new>

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

  /// Makes the command that the step waits for. It lives until the next one, or the end of the
  /// step.
  template <class F, class... Target>
  static firmware_command<F>& make(device& d, Target... target) {
    static_assert(sizeof(firmware_command<F>) <= sizeof d.command_space_);
    drop(d);
    auto* c = new (d.command_space_) firmware_command<F>(target...);
    d.command_ = c;
    d.destroy_command_ = [](command& gone) {
      static_cast<firmware_command<F>&>(gone).~firmware_command<F>();
    };
    return *c;
  }
  template <class F>
  static firmware_command<F>& current(device& d) {
    return static_cast<firmware_command<F>&>(*d.command_);
  }
  static void drop(device& d) {
    if (d.command_ != nullptr) d.destroy_command_(*d.command_);
    d.command_ = nullptr;
  }

  /// Sends the command made last and goes to `phase` when it is done.
  static outcome send(device& d, unsigned phase) {
    d.phase_ = phase;
    d.under_way_ = d.command_;
    d.channel_.submit(*d.command_);
    return wait;
  }
  /// The same for one that gives the device something to take back: `*effect` is true from now on,
  /// unless the firmware refuses.
  static outcome send_with_effect(device& d, unsigned phase, bool& effect) {
    effect = true;
    d.effect_ = &effect;
    d.command_->put_at_risk(d.effect_at_risk_);
    return send(d, phase);
  }
  /// What became of that: ok, or the error, with the effect undone if the firmware refused.
  static status settle_effect(device& d) {
    const status s = d.command_->outcome();
    if (d.effect_at_risk_.in_doubt()) return s;
    if (!s.ok() && d.effect_ != nullptr) *d.effect_ = false;
    d.effect_ = nullptr;
    return s;
  }
  static outcome later(device& d, std::uint64_t nanoseconds) {
    d.wake_ = clock::after(d.setup_.platform.now(), nanoseconds);
    return wait;
  }
  static outcome again(device& d, unsigned phase) {
    d.phase_ = phase;
    d.wake_ = 0;
    return wait;
  }

  /// Where a reset stands. From `rest` on the device has been told, and may be deaf or without its
  /// configuration space: nothing breaks the step off any more.
  enum reset_phase : unsigned { reset_begin, take_flash, rest, vendor_answers, registers_answer };

  // steps_reset.cpp
  static outcome take_ownership(device& d);
  static outcome release_ownership(device& d);
  static outcome reset(device& d);
  static outcome enable_bus_master(device& d);
  static outcome disable_bus_master(device& d);
  static outcome open_commands(device& d);
  static outcome close_commands(device& d);
  static status set_bus_master(device& d, bool on);
  static status save_configuration(device& d);
  static status restore_configuration(device& d);
  static status repair_configuration(device& d);

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
  static std::uint64_t awaited_until(const device& d);
  static bool next_infiniband_port(device& d);
  static outcome start_port_query(device& d, unsigned phase);
};

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps of bring-up. Each step is a function. The sequence calls it again and again, until it
// returns without having begun to wait. What it returns then is the outcome of the step. Between
// the calls the sequence keeps the phase and the item of the step. If a step awaits a command or
// another operation, and this fails, the step fails. The sequence calls the function only for
// answers that are ok, except in the steps with `judges`.
//
// Each undo function checks what its step has created so far. It can therefore be called after a
// step that succeeded, failed half way, or never ran.
#pragma once

#include <freehca/layouts/init_hca.hpp>

#include <freehca/hca/device.hpp>

namespace freehca {

struct device::steps {
  /// The phase of a step that is done as soon as the operation that it awaits is done.
  static constexpr unsigned over = ~0u;

  struct step {
    status (*run)(device&);
    status (*undo)(device&);  // null: nothing to undo
    /// The functions check the outcome of the awaited operation themselves, by
    /// device_sequence::answer(). They are called for errors too.
    bool judges = false;
  };
  static const step table[bring_up_steps];

  /// Makes the step wait for a time.
  static status later(device& d, std::uint64_t nanoseconds) {
    d.sequence_.wake_at(clock::after(d.setup_.platform.now(), nanoseconds));
    return {};
  }
  /// Sends command F and returns null when the step begins. Returns the command when it is done.
  template <class F>
  static const firmware_command<F>* ask(device& d) {
    if (d.sequence_.phase == 1) return &d.sequence_.made<F>();
    d.sequence_.make<F>();
    static_cast<void>(d.sequence_.send(1));
    return nullptr;
  }

  /// The phases of a reset. From `rest` on the reset register has been written. The device may then
  /// not answer, or have no configuration space: see device_sequence::committed.
  enum reset_phase : unsigned {
    reset_begin,
    owners_stop,
    take_flash,
    rest,
    registers_answer,
    owners_release
  };

  // steps_reset.cpp
  static status take_ownership(device& d);
  static status release_ownership(device& d);
  static status reset(device& d);
  static status enable_bus_master(device& d);
  static status disable_bus_master(device& d);
  static status open_commands(device& d);
  static status close_commands(device& d);

  // steps_firmware.cpp
  static status query_fw(device& d);
  static status map_fa(device& d);
  static status unmap_fa(device& d);
  static status run_fw(device& d);
  static status mod_stat_cfg(device& d);
  static status query_dev_cap(device& d);
  static void take_capabilities(const layouts::image<layouts::query_dev_cap>& from, const budget& b,
                                freehca::capabilities& to);
  static status query_adapter(device& d);
  /// Returns `words` registers of a BAR. Null: the driver does not map the BAR, they are not inside
  /// it, or `words` is 0.
  static std::byte* registers_at(const device& d, unsigned bar, std::uint64_t at,
                                 std::uint64_t words);
  static void find_error_buffer(device& d, unsigned bar, std::uint64_t at, std::uint64_t words);
  static status exceeds(device& d, budget::item what, std::uint64_t asked, std::uint64_t bound);
  static status lend_area(device& d, lent_area& area, std::size_t first, std::size_t pages,
                          layouts::opcode how);
  static status take_back_area(device& d, lent_area& area, layouts::opcode how);

  // steps_context.cpp
  static status plan_context(device& d);
  static status forget_plan(device& d);
  static status set_icm_size(device& d);
  static status map_icm_aux(device& d);
  static status unmap_icm_aux(device& d);
  static status map_reserved(device& d);
  static status unmap_reserved(device& d);
  static status init_hca(device& d);
  static status close_hca(device& d);
  static status query_hca(device& d);
  static status tell_tables(device& d, layouts::image<layouts::init_hca>& to);
  static std::uint32_t reserved_objects(const device& d, context_group g);

  // steps_events.cpp
  static status open_numbers(device& d);
  static status close_numbers(device& d);
  static status arm_interrupts(device& d);
  static status disarm_interrupts(device& d);
  static status create_event_queues(device& d);
  static status destroy_event_queues(device& d);
  static status map_events(device& d);
  static status unmap_events(device& d);
  static status use_events(device& d);
  static status use_polling(device& d);
  static std::uint64_t event_mask(const device& d);

  // steps_ports.cpp
  static status query_ports(device& d);
  static status set_ports(device& d);
  static status init_ports(device& d);
  static status close_ports(device& d);
  static status mad_demux(device& d);
  static status wait_for_ports(device& d);
  static bool is_awaited(const device& d, unsigned port);
  static bool next_infiniband_port(device& d);
  static status start_port_query(device& d, unsigned phase);
  static status start_guid_query(device& d, unsigned phase);
};

}  // namespace freehca

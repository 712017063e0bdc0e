// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The state machine that runs the table of steps up or down, and the handling of a step that fails.
#include "steps.hpp"

namespace freehca {

const device::steps::step device::steps::table[bring_up_steps] = {
    {take_ownership, release_ownership},
    {reset, nullptr},
    {enable_bus_master, disable_bus_master},
    {open_commands, close_commands},
    {query_fw, nullptr},
    {map_fa, unmap_fa, true},
    {run_fw, nullptr},
    {mod_stat_cfg, nullptr, true},
    {query_dev_cap, nullptr},
    {query_adapter, nullptr},
    {plan_context, forget_plan},
    {set_icm_size, nullptr},
    {map_icm_aux, unmap_icm_aux, true},
    {map_reserved, unmap_reserved, true},
    {init_hca, close_hca},
    {query_hca, nullptr},
    {open_numbers, close_numbers},
    {arm_interrupts, disarm_interrupts},
    {create_event_queues, destroy_event_queues},
    {map_events, unmap_events},
    {use_events, use_polling},
    {query_ports, nullptr},
    {set_ports, nullptr, true},
    {init_ports, close_ports},
    {mad_demux, nullptr},
    {wait_for_ports, nullptr},
};

void device::bring_up(operation& done) {
  if (!done.startable()) return;
  if (state_ != device_state::down || sequence_.is_awaited())
    return control_.reactor.refuse(done, driver_error::bad_state);
  state_ = device_state::bringing_up;
  sequence_.start(done, &on_cancel, this, device_sequence::course::up);
}

void device::tear_down(operation& done) {
  if (done.startable()) take_back(done, false);
}

void device::recover(operation& done) {
  if (!done.startable()) return;
  if (state_ == device_state::down) return bring_up(done);
  take_back(done, true);
}

void device::take_back(operation& done, bool up_again) {
  if (state_ == device_state::closed || sequence_.is_awaited())
    return control_.reactor.refuse(done, driver_error::bad_state);
  if (sequence_.way() != device_sequence::course::none) {
    // A late answer has come, and the driver is undoing the bring-up already. The caller of
    // bring_up() has been given the reason of its failure. recover() needs no reset in this case,
    // because the undo gives everything back.
    sequence_.join(done, &on_cancel, this);
    return sequence_.set_up_again(up_again);
  }
  const bool orderly = state_ == device_state::down ||
                       (state_ == device_state::up && !up_again && !owners_.any() &&
                        !ports_.changing() && !control_.held_by_users(objects_of_its_own_));
  state_ = device_state::tearing_down;
  control_.commands.admit_clients(false);
  sequence_.start(done, &on_cancel, this, device_sequence::course::down);
  sequence_.set_up_again(up_again);
  if (!orderly) begin_reset();
}

void device::on_cancel(operation& op, void* self) noexcept {
  auto& d = *static_cast<device*>(self);
  if (op.where() == operation::phase::ended) return;
  if (op.dropped()) return d.sequence_.orphan(&on_cancel, self);
  if (d.awaited_owner() != nullptr) d.go_on();
  if (!d.sequence_.stop()) return;
  for (context_request& r : d.requests_) r.cancel();
}

void device::run_sequence() {
  using course = device_sequence::course;
  while (sequence_.way() != course::none) {
    const device_sequence::look look = sequence_.take_look(setup_.platform.now());
    if (look == device_sequence::look::early) return;
    if (sequence_.way() == course::reset) {
      if (sequence_.phase == steps::reset_begin || sequence_.phase == steps::owners_stop)
        if (!owners_have_stopped()) return;
      if (sequence_.phase != steps::owners_release) {
        const status o = steps::reset(*this);
        if (sequence_.waits()) return;
        reset_done(o);
      }
      if (sequence_.way() != course::reset || !owners_have_released()) return;
      forget_everything();
      sequence_.turn(course::down);
      continue;
    }
    const bool up = sequence_.way() == course::up;
    // If there is an answer, the step handles it, because the step knows what to undo. A driver
    // that does not own the device must not reset the device.
    if (sequence_.stopping() && look == device_sequence::look::due && !sequence_.committed &&
        (up || sequence_.has(bring_up_step::take_ownership))) {
      if (up) step_failed(sequence_.reason_for(driver_error::cancelled));
      else undo_failed(transport_error::timeout);
      continue;
    }
    const steps::step& s = steps::table[static_cast<unsigned>(sequence_.step())];
    const auto function = up ? s.run : s.undo;
    status o = s.judges ? status() : sequence_.answer();
    if (o.ok() && function != nullptr && sequence_.phase != steps::over) o = function(*this);
    if (sequence_.waits()) return sequence_.pass_on_stop();
    sequence_.drop_command();
    if (o.ok()) next_step();
    else if (up) step_failed(sequence_.reason_for(o));
    else undo_failed(sequence_.stopping() ? status(transport_error::timeout) : o);
  }
}

void device::next_step() {
  const bool up = sequence_.way() == device_sequence::course::up;
  if (sequence_.next_step()) return;
  if (up) {
    state_ = device_state::up;
    objects_of_its_own_ = control_.contexts.objects_held();
    control_.commands.admit_clients(true);
    health_.look_soon();
    owners_.begin_anew(control_.uars);
    return sequence_.end();
  }
  state_ = device_state::down;
  if (!sequence_.start_again()) return sequence_.end();
  state_ = device_state::bringing_up;
}

void device::step_failed(status why) {
  sequence_.drop_command();
  sequence_.clear_stop_request();
  sequence_.record_failure(why);
  const bool broken = control_.commands.is_open() && !control_.commands.failure().ok();
  if (broken || control_.commands.slots_in_use() > 0) {
    // A command was not answered, or the channel has failed. The operation ends at once. The
    // resources stay held.
    state_ = broken ? device_state::failed : device_state::in_doubt;
    return sequence_.end();
  }
  sequence_.turn(device_sequence::course::down);
}

/// If an undo fails, the driver resets the device. All memory is then the driver's again.
void device::undo_failed(status why) {
  sequence_.record_failure(why);
  begin_reset();
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The state machine that runs the table of steps up or down, and what happens when a step fails.
#include "steps.hpp"

namespace freehca {

const device::steps::step device::steps::table[bring_up_steps] = {
    {"taking ownership", take_ownership, release_ownership},
    {"reset", reset, nullptr},
    {"bus mastering", enable_bus_master, disable_bus_master},
    {"opening the command channel", open_commands, close_commands},
    {"QUERY_FW", query_fw, nullptr},
    {"MAP_FA", map_fa, unmap_fa},
    {"RUN_FW", run_fw, nullptr},
    {"MOD_STAT_CFG", mod_stat_cfg, nullptr},
    {"QUERY_DEV_CAP", query_dev_cap, nullptr},
    {"QUERY_ADAPTER", query_adapter, nullptr},
    {"planning context memory", plan_context, forget_plan},
    {"SET_ICM_SIZE", set_icm_size, nullptr},
    {"MAP_ICM_AUX", map_icm_aux, unmap_icm_aux},
    {"MAP_ICM of reserved entries", map_reserved, unmap_reserved},
    {"INIT_HCA", init_hca, close_hca},
    {"QUERY_HCA", query_hca, nullptr},
    {"opening the number spaces", open_numbers, close_numbers},
    {"arming interrupts", arm_interrupts, disarm_interrupts},
    {"creating event queues", create_event_queues, destroy_event_queues},
    {"MAP_EQ", map_events, unmap_events},
    {"command completion by events", use_events, use_polling},
    {"QUERY_PORT", query_ports, nullptr},
    {"SET_PORT", set_ports, nullptr},
    {"INIT_PORT", init_ports, close_ports},
    {"MAD_DEMUX", mad_demux, nullptr},
    {"waiting for the ports", wait_for_ports, nullptr},
};

const char* device::step_name(bring_up_step step) {
  const auto i = static_cast<unsigned>(step);
  return i < bring_up_steps ? steps::table[i].name : "";
}
const char* name_of(bring_up_step step) {
  return device::step_name(step);
}

void device::bring_up(operation& done) {
  if (!done.startable()) return;
  if (state_ != device_state::down || done_ != nullptr)
    return refuse(done, driver_error::bad_state);
  failure_ = {};
  state_ = device_state::bringing_up;
  step_ = 0;
  was_reset_ = false;
  start_sequence(done, direction::up);
}

void device::tear_down(operation& done) {
  if (!done.startable()) return;
  if (state_ == device_state::closed || done_ != nullptr)
    return refuse(done, driver_error::bad_state);
  if (direction_ == direction::down) {
    // It is being undone already, after an answer that came late: why the bring-up failed, its
    // caller was told. recover() joins here too, and needs no reset: the undo gives everything
    // back.
    outcome_ = {};
    failure_ = {};
    done_ = &done;
    done.begin(&on_cancel, this);
    return;
  }
  const bool orderly =
      state_ == device_state::down || (state_ == device_state::up && !held_by_users());
  failure_ = {};
  step_ = state_ == device_state::down ? 0 : bring_up_steps - 1;
  was_reset_ = false;
  state_ = device_state::tearing_down;
  channel_.admit_clients(false);
  start_sequence(done, direction::down);
  if (!orderly) begin_reset();
}

void device::recover(operation& done) {
  if (!done.startable()) return;
  if (state_ == device_state::down) return bring_up(done);
  if (state_ == device_state::closed || done_ != nullptr)
    return refuse(done, driver_error::bad_state);
  const bool undone_already = direction_ == direction::down;
  tear_down(done);
  up_again_ = true;
  if (!undone_already && !resetting_) begin_reset();
}

/// Objects, context memory, or commands in doubt: step by step the device could not be taken from
/// them.
bool device::held_by_users() const {
  const number_spaces& n = numbers_;
  return ports_.changing() || channel_.in_doubt(lease_kind::slot) > 0 ||
         contexts_.objects_held() > objects_of_its_own_ ||
         n.qps.out() + n.srqs.out() + n.cqs.out() + n.mpts.out() + n.pds.out() > 0;
}

void device::refuse(operation& done, status why) {
  done.begin_refused(why);
  refused_.push_back(done);
}

void device::start_sequence(operation& done, direction d) {
  done.begin(&on_cancel, this);
  done.mark_in_flight();
  done_ = &done;
  direction_ = d;
  outcome_ = {};
  phase_ = item_ = 0;
  wake_ = 0;
  under_way_ = nullptr;
}

/// Whether bring-up is in the part of the reset that must not be left half done.
bool device::told_to_reset() const {
  return direction_ == direction::up && step_ == static_cast<unsigned>(bring_up_step::reset) &&
         phase_ >= steps::rest;
}

/// Bring-up stops at once, but for a reset: a command that the firmware has is detached. A teardown
/// is never broken off, but one that is overdue goes on by a reset.
void device::on_cancel(operation&, void* self) noexcept {
  auto& d = *static_cast<device*>(self);
  if (d.resetting_ || (d.direction_ != direction::up && !d.overdue_)) return;
  d.cancelled_ = true;
  if (d.told_to_reset()) return;
  d.wake_ = 0;
  if (d.under_way_ != nullptr) d.under_way_->cancel();
  for (context_request& r : d.requests_) r.cancel();
}

void device::enforce_deadline() {
  if (done_ == nullptr || overdue_ || setup_.platform.now() < done_->deadline()) return;
  overdue_ = true;
  done_->expire();
}

/// What the operation was told, where a step says that it was cancelled.
status device::reason_for(status why) const {
  const bool told = done_ != nullptr && !done_->stop_reason().ok();
  return told && why.is(driver_error::cancelled) ? done_->stop_reason().at(why.where()) : why;
}

void device::run_sequence() {
  while (direction_ != direction::none) {
    const bool answered = under_way_ != nullptr;
    if (answered) {
      if (!under_way_->done()) return;
      under_way_ = nullptr;
    } else if (wake_ != 0 && setup_.platform.now() < wake_ && (!cancelled_ || told_to_reset())) {
      return;
    }
    wake_ = clock::never;
    if (resetting_) {
      const steps::outcome o = steps::reset(*this);
      if (!o.finished) return;
      reset_done(o.error);
      continue;
    }
    // What was answered is the step's to look at: it knows what to take back.
    if (cancelled_ && !answered && !told_to_reset()) {
      if (direction_ == direction::up) step_failed(reason_for(driver_error::cancelled));
      else undo_failed(transport_error::timeout);
      continue;
    }
    const steps::step& s = steps::table[step_];
    const auto function = direction_ == direction::up ? s.run : s.undo;
    const steps::outcome o = function == nullptr ? steps::done : function(*this);
    if (!o.finished) {
      if (cancelled_ && under_way_ != nullptr) under_way_->cancel();
      return;
    }
    steps::drop(*this);
    if (o.error.ok()) next_step();
    else if (direction_ == direction::up) step_failed(reason_for(o.error));
    else undo_failed(cancelled_ ? status(transport_error::timeout) : o.error);
  }
}

void device::next_step() {
  phase_ = item_ = 0;
  wake_ = 0;
  if (direction_ == direction::up) {
    if (++step_ == bring_up_steps) {
      state_ = device_state::up;
      objects_of_its_own_ = contexts_.objects_held();
      channel_.admit_clients(true);
      health_.look_soon();
      end_sequence();
    }
  } else if (step_-- == 0) {
    step_ = 0;
    state_ = device_state::down;
    if (!up_again_) return end_sequence();
    up_again_ = false;
    // What taking it back had to say, the reset has settled.
    outcome_ = done_->stop_reason();
    failure_ = {};
    if (!outcome_.ok()) return end_sequence();
    state_ = device_state::bringing_up;
    was_reset_ = false;
    direction_ = direction::up;
  }
}

void device::end_sequence() {
  direction_ = direction::none;
  operation* const done = done_;
  done_ = nullptr;
  cancelled_ = overdue_ = up_again_ = false;
  if (done == nullptr) return;
  ++sequences_told_;
  done->complete(outcome_);
}

void device::step_failed(status why) {
  steps::drop(*this);
  under_way_ = nullptr;
  phase_ = item_ = 0;
  wake_ = 0;
  cancelled_ = false;
  failure_.step = static_cast<bring_up_step>(step_);
  failure_.cause = why;
  outcome_ = why.at(step_);
  const bool broken = channel_.is_open() && !channel_.failure().ok();
  if (broken || channel_.slots_in_use() > 0) {
    // Something was not answered: the caller is told at once, the rest is held.
    state_ = broken ? device_state::failed : device_state::in_doubt;
    return end_sequence();
  }
  direction_ = direction::down;
}

/// A device that does not even let go is reset: then everything is the driver's again.
void device::undo_failed(status why) {
  if (outcome_.ok()) {
    failure_ = {.step = static_cast<bring_up_step>(step_), .cause = why};
    outcome_ = why.at(step_);
  }
  begin_reset();
}

}  // namespace freehca

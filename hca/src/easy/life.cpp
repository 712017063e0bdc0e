// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How an adapter comes up and goes down.
#include <freehca/hca/easy/adapter.hpp>

namespace freehca::easy {

void bringing_up::start(adapter& on) {
  if (!startable()) return;
  if (on.phase_ != adapter::phase::down) return refuse(on, driver_error::bad_state);
  on.phase_ = adapter::phase::coming_up;
  begin_in(on, &advance);
  on.device_.bring_up(part(step_));
}

void bringing_up::advance(sequence& s, status outcome) noexcept {
  auto& self = static_cast<bringing_up&>(s);
  adapter& on = self.owner();
  if (self.undoing() || !outcome.ok()) {
    on.phase_ = adapter::phase::down;
    return self.finish(self.undoing() ? self.why() : outcome);
  }
  if (!self.stop_reason().ok()) return self.undo(self.stop_reason());
  if (const status opened = on.open_objects(); !opened.ok()) return self.undo(opened);
  on.failure_ = {};
  on.phase_ = adapter::phase::up;
  self.finish({});
}

void bringing_up::undo(status why) {
  begin_undoing(why);
  static_cast<void>(owner().close_objects());
  owner().device_.tear_down(part(step_));
}

void tearing_down::start(adapter& on) {
  if (!startable()) return;
  if (on.phase_ == adapter::phase::coming_up || on.phase_ == adapter::phase::going_down)
    return refuse(on, driver_error::bad_state);
  const bool orderly = on.up() && on.device_.up();
  on.phase_ = adapter::phase::going_down;
  stage_ = stage::in_order;
  begin_in(on, &advance);
  if (orderly) go_on();
  else enter(stage::objects);
}

void tearing_down::go_on() {
  adapter& on = owner();
  for (std::uint32_t i = 0; i < on.place_count_; ++i) {
    place& p = on.places_[i];
    if (p.now == place::use::free || p.worked_on || p.refused) continue;
    return part(take_back_).start(on, p);
  }
  enter(stage::objects);
}

/// Objects are not closed inside their own poll().
void tearing_down::enter(stage next) {
  stage_ = next;
  owner().ending_ = this;
}

void tearing_down::advance(sequence& s, status outcome) noexcept {
  auto& self = static_cast<tearing_down&>(s);
  if (self.stage_ == stage::in_order) {
    if (outcome.ok() && self.stop_reason().ok()) self.go_on();
    else self.enter(stage::objects);
    return;
  }
  self.outcome_ = outcome;
  self.enter(stage::end);
}

bool tearing_down::go_down() {
  adapter& on = owner();
  if (stage_ == stage::end) return end();
  // Objects that are left keep them open. The device is reset then, and has them forgotten.
  static_cast<void>(on.close_objects());
  on.ending_ = nullptr;
  part(down_).set_deadline(deadline());
  on.device_.tear_down(down_);
  return false;
}

bool tearing_down::end() {
  adapter& on = owner();
  // A device that could not be taken down may still have what is left.
  const bool down = on.device_.state() == device_state::down;
  if (down) {
    for (std::uint32_t i = 0; i < on.place_count_; ++i)
      if (on.places_[i].worked_on) return false;
    if (!on.close_objects().ok()) return false;
    for (std::uint32_t i = 0; i < on.place_count_; ++i)
      if (on.places_[i].now != place::use::free) on.vacate(on.places_[i]);
  }
  on.ending_ = nullptr;
  on.phase_ = adapter::phase::down;
  finish(outcome_);
  return true;
}

}  // namespace freehca::easy

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Bring-up and teardown of an adapter.
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void bringing_up::start(adapter& hca) {
  if (!startable()) return;
  if (hca.phase_ != adapter::phase::down) return refuse(hca, driver_error::bad_state);
  hca.phase_ = adapter::phase::coming_up;
  begin_in(hca, &advance);
  hca.device_.bring_up(part(step_));
}

void bringing_up::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<bringing_up&>(s);
  adapter& hca = self.owner();
  if (self.undoing() || !outcome.ok()) {
    hca.phase_ = adapter::phase::down;
    return self.complete(self.undoing() ? self.why() : outcome);
  }
  if (!self.stop_reason().ok()) return self.undo(self.stop_reason());
  if (const status opened = hca.open_objects(); !opened.ok()) return self.undo(opened);
  hca.failure_ = {};
  hca.phase_ = adapter::phase::up;
  self.complete({});
}

void bringing_up::undo(status why) {
  begin_undoing(why);
  static_cast<void>(owner().close_objects());
  owner().device_.tear_down(part(step_));
}

void tearing_down::start(adapter& hca) {
  if (!startable()) return;
  if (hca.phase_ == adapter::phase::coming_up || hca.phase_ == adapter::phase::going_down)
    return refuse(hca, driver_error::bad_state);
  const bool orderly = hca.up() && hca.device_.up();
  hca.phase_ = adapter::phase::going_down;
  stage_ = stage::in_order;
  begin_in(hca, &advance);
  if (orderly) go_on();
  else enter(stage::objects);
}

void tearing_down::go_on() {
  adapter& hca = owner();
  // The newest connection, or the newest memory if no connection is left.
  place* next = nullptr;
  const auto age = [&hca](const place& p) { return hca.last_serial_ - p.serial; };
  for (std::uint32_t i = 0; i < hca.place_count_; ++i) {
    place& p = hca.places_[i];
    if (p.now == place::use::free || p.worked_on || p.refused) continue;
    const bool earlier =
        next == nullptr ||
        (p.is_memory() != next->is_memory() ? next->is_memory() : age(p) < age(*next));
    if (earlier) next = &p;
  }
  if (next != nullptr) return part(take_back_).start(hca, *next);
  enter(stage::objects);
}

/// The objects are closed later, because they must not be closed inside their own poll().
void tearing_down::enter(stage next) {
  stage_ = next;
  owner().ending_ = this;
}

void tearing_down::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<tearing_down&>(s);
  if (self.dropped()) return self.hand_over();
  if (self.stage_ == stage::in_order) {
    if (outcome.ok() && self.stop_reason().ok()) self.go_on();
    else self.enter(stage::objects);
    return;
  }
  self.outcome_ = outcome;
  self.enter(stage::end);
}

void tearing_down::hand_over() {
  adapter& hca = owner();
  const bool device_goes_down = stage_ == stage::objects && hca.ending_ != this;
  const stage next = device_goes_down            ? stage::end
                     : stage_ == stage::in_order ? stage::objects
                                                 : stage_;
  hca.ending_ = nullptr;
  complete(stop_reason());
  tearing_down& heir = hca.closer_;
  if (this == &heir) return;
  heir.restart();
  heir.begin_in(hca, &advance);
  heir.outcome_ = driver_error::cancelled;
  heir.enter(next);
}

/// True also during a teardown of the device whose operation was destroyed.
bool tearing_down::waits_for_device() const {
  return stage_ == stage::end && owner().device_.state() == device_state::tearing_down;
}

bool tearing_down::go_down() {
  adapter& hca = owner();
  if (stage_ == stage::end) return end();
  // If objects are left, the verbs objects stay open. The device is then reset and calls
  // verbs::forget().
  static_cast<void>(hca.close_objects());
  hca.ending_ = nullptr;
  part(down_).set_deadline(deadline());
  hca.device_.tear_down(down_);
  return false;
}

bool tearing_down::end() {
  adapter& hca = owner();
  if (waits_for_device()) return false;
  // If the device could not be taken down, it may still use the resources that are left.
  const bool down = hca.device_.state() == device_state::down;
  if (down) {
    for (std::uint32_t i = 0; i < hca.place_count_; ++i)
      if (hca.places_[i].worked_on) return false;
    if (!hca.close_objects().ok()) return false;
    for (std::uint32_t i = 0; i < hca.place_count_; ++i)
      if (hca.places_[i].now != place::use::free) hca.vacate(hca.places_[i]);
  }
  hca.ending_ = nullptr;
  hca.phase_ = adapter::phase::down;
  complete(outcome_);
  return true;
}

}  // namespace freehca::easy

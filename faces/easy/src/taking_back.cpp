// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void taking_back::start(adapter& hca, place& what) {
  if (!startable()) return;
  place_ = &what;
  what.worked_on = true;
  begin_in(hca, &advance);
  if (go_on()) return;
  // The device has no object of the place any more. The next poll() completes the operation.
  hca.vacate(what);
  hca.reactor().end(*this, {});
}

void taking_back::start_of(adapter& hca, place* what, std::uint32_t serial) {
  if (!startable()) return;
  what = hca.find_place(what, serial);
  if (what == nullptr) return refuse(hca, driver_error::stale_handle);
  if (what->worked_on) return refuse(hca, driver_error::busy);
  start(hca, *what);
}

device_object* taking_back::next() const {
  const verbs& objects = owner().objects();
  if (device_object* const pair = objects.find(place_->pair)) return pair;
  if (device_object* const completions = objects.find(place_->completions)) return completions;
  return objects.find(place_->region);
}

bool taking_back::go_on() {
  device_object* const object = next();
  if (object != nullptr) part(destroy_).start(owner().objects(), *object);
  return object != nullptr;
}

void taking_back::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<taking_back&>(s);
  if (!outcome.ok() && !outcome.is(driver_error::stale_handle) &&
      !outcome.is(transport_error::reset))
    return self.end_work(outcome);
  if (self.next() != nullptr && !self.stop_reason().ok()) return self.end_work(self.stop_reason());
  if (self.go_on()) return;
  self.owner().vacate(*self.place_);
  self.complete({});
}

}  // namespace freehca::easy

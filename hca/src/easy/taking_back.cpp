// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/easy/adapter.hpp>

namespace freehca::easy {

void taking_back::start(adapter& hca, place& what) {
  if (!startable()) return;
  place_ = &what;
  what.worked_on = true;
  begin_in(hca, &advance);
  if (go_on()) return;
  // Nothing is left to ask the device for: the next poll() says so.
  hca.vacate(what);
  unlink();
  hca.ended_.push_back(*this);
}

void taking_back::start_of(adapter& hca, place* what, std::uint32_t serial) {
  if (!startable()) return;
  if (what == nullptr || !what->is(serial)) return refuse(hca, driver_error::stale_handle);
  if (what->worked_on) return refuse(hca, driver_error::busy);
  start(hca, *what);
}

template <class K>
bool taking_back::take(handle<K>& which) {
  verbs& objects = owner().objects();
  if (objects.find(which) == nullptr) {
    which = {};
    return false;
  }
  part(destroy_).start(objects, which);
  return true;
}

bool taking_back::go_on() {
  return take(place_->pair) || take(place_->completions) || take(place_->region);
}

bool taking_back::is_left() const {
  const verbs& objects = owner().objects();
  return objects.find(place_->pair) != nullptr || objects.find(place_->completions) != nullptr ||
         objects.find(place_->region) != nullptr;
}

void taking_back::advance(sequence& s, status outcome) noexcept {
  auto& self = static_cast<taking_back&>(s);
  if (!outcome.ok() && !outcome.is(driver_error::stale_handle) &&
      !outcome.is(transport_error::reset))
    return self.end(outcome);
  if (self.is_left() && !self.stop_reason().ok()) return self.end(self.stop_reason());
  if (self.go_on()) return;
  self.owner().vacate(*self.place_);
  self.finish({});
}

void taking_back::end(status outcome) {
  place_->worked_on = false;
  finish(outcome);
}

}  // namespace freehca::easy

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Bring-up and teardown of an adapter.
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void bringing_up::start(adapter& hca) {
  if (!startable()) return;
  if (hca.verbs_.is_open() || hca.stage_ != adapter::stage::none)
    return refuse(hca, driver_error::bad_state);
  begin_in(hca, &advance);
  hca.device_.bring_up(part(step_));
}

void bringing_up::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<bringing_up&>(s);
  if (self.undoing() || !outcome.ok()) return self.complete(self.undoing() ? self.why() : outcome);
  outcome = self.stop_reason();
  if (outcome.ok()) outcome = self.owner().open_objects();
  if (outcome.ok()) return self.complete({});
  self.begin_undoing(outcome);
  static_cast<void>(self.owner().close_objects());
  self.owner().device_.tear_down(self.part(self.step_));
}

void tearing_down::start(adapter& hca) {
  if (!startable()) return;
  if (hca.stage_ != adapter::stage::none) return refuse(hca, driver_error::bad_state);
  hca.stage_ = adapter::stage::objects;
  hca.orderly_ = hca.verbs_.up();
  hca.ending_ = this;
  begin_waiting(hca, &on_cancel);
}

void tearing_down::on_cancel(operation& op, void* owner) noexcept {
  auto& hca = *static_cast<adapter*>(owner);
  hca.orderly_ = false;
  hca.close_.cancel();
  hca.release_.cancel();
  hca.down_.cancel();
  if (op.dropped()) hca.ending_ = nullptr;
}

// ---- The adapter.

status adapter::open_objects() {
  FREEHCA_TRY(verbs_.open(device_, setup_.size.objects, setup_.storage, setup_.storage_bytes,
                          setup_.events));
  const result<pd_handle> domain = verbs_.create<protection_domain>();
  if (domain.ok()) domain_ = domain.value();
  return domain.error();
}

status adapter::close_objects() {
  // If objects of the domain are left, it is busy. After a reset, the domain is gone.
  if (verbs_.destroy(domain_).ok()) domain_ = {};
  FREEHCA_TRY(verbs_.close());
  domain_ = {};
  return {};
}

namespace {

/// Returns the newest element that can be destroyed now; null if there is none.
template <class T, class Use>
T* newest(const verbs& in, const list<T, Use>& all) {
  for (T* p = all.back(); p != nullptr; p = all.previous(*p)) {
    const device_object& last = p->last_made(in);
    if (!p->worked_on && last.users == 0 && verbs::usable(&last).ok()) return p;
  }
  return nullptr;
}

}  // namespace

void adapter::leave(connection_object& p) {
  p.worked_on = false;
  p.list_place<adapter>::unlink();
  left_.push_back(p);
}

bool adapter::take_back() {
  if (close_.done() && !close_.outcome().ok()) {
    orderly_ = false;
    // If the device has refused, the connection is held until a reset. No other attempt is made.
    if (connection_object* const p = close_.found();
        p != nullptr && !close_.outcome().is(driver_error::busy))
      p->list_place<adapter>::unlink();
  }
  if (release_.done() && !release_.outcome().ok()) orderly_ = false;
  if (stage_ != stage::none && !orderly_) return false;
  close_.restart();
  release_.restart();
  connection_object* p = newest(verbs_, left_);
  if (p == nullptr && orderly_) p = newest(verbs_, connections_);
  if (p != nullptr) {
    close_.start(*this, *p);
    return true;
  }
  memory_object* const m = orderly_ ? newest(verbs_, memories_) : nullptr;
  if (m != nullptr) release_.start(*this, {.region = verbs::handle_of<memory_region>(*m)});
  return m != nullptr;
}

bool adapter::go_down() {
  if (stage_ == stage::objects) {
    if (orderly_ && take_back()) return false;
    // If objects are left, the verbs object stays open. The device is then reset and calls
    // verbs::forget().
    static_cast<void>(close_objects());
    stage_ = stage::device;
    orderly_ = false;
    close_.restart();
    release_.restart();
    down_.restart();
    if (ending_ != nullptr) down_.set_deadline(ending_->deadline());
    device_.tear_down(down_);
    return false;
  }
  if (!down_.done()) return false;
  // If the device could not be taken down, it may still use the objects that are left. Operations
  // that the reset ended may not be completed yet.
  if (device_.state() == device_state::down && !close_objects().ok()) return false;
  stage_ = stage::none;
  tearing_down* const ended = ending_;
  ending_ = nullptr;
  if (ended != nullptr) ended->complete(ended->reason_for(down_.outcome()));
  return true;
}

}  // namespace freehca::easy

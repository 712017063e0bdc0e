// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/operation.hpp>

#include <freehca/hal/reactor.hpp>

namespace freehca {

operation::~operation() {
  drop();
}

bool operation::restart() {
  const bool ends_here = dropped_ && tells_drop_;  // drop() calls the callback, or has called it
  if (under_way() || ends_here) return false;
  state_ = phase::idle;
  dropped_ = tells_drop_ = false;
  outcome_ = {};
  callback_ = nullptr;
  context_ = nullptr;
  deadline_ = no_deadline;
  return true;
}

void operation::drop() {
  if (!under_way()) return;
  const callback on_drop = tells_drop_ ? callback_ : nullptr;
  callback_ = nullptr;
  dropped_ = true;
  if (outcome_.ok() && state_ != phase::ended) outcome_ = driver_error::cancelled;
  if (cancel_ != nullptr) cancel_(*this, owner_);
  if (!done()) complete(outcome_);
  // The call of on_drop is the last access to the operation. The callback must not restart the
  // operation: the destructor that called drop() is about to end its life.
  if (on_drop != nullptr) on_drop(*this, context_);
}

void operation::complete(status s) {
  FREEHCA_ASSERT(under_way());
  list_node::unlink();
  list_place<reactor>::unlink();
  outcome_ = s;
  state_ = phase::done;
  cancel_ = nullptr;
  const callback f = callback_;
  callback_ = nullptr;
  if (f != nullptr) f(*this, context_);
}

void operation::stop(status why) {
  if (cancel_ == nullptr || (state_ != phase::queued && state_ != phase::in_flight)) return;
  if (outcome_.ok()) outcome_ = why;
  cancel_(*this, owner_);
}

status operation::reason_for(status part) const {
  const bool stopped = part.is(driver_error::cancelled) && !stop_reason().ok();
  return stopped ? stop_reason().at(part.where()) : part;
}

void stepper::begin_parts(advancer next) {
  advance_ = next;
  part_ = nullptr;
  why_ = {};
  begin(&on_cancel, this);
}

bool stepper::begin_checked(reactor& of, status checked, advancer next) {
  if (!checked.ok()) {
    of.refuse(*this, checked);
    return false;
  }
  begin_parts(next);
  of.watch(*this);
  return true;
}

void stepper::prepare_part(operation& p) {
  p.restart();
  p.then(&part_ended, this);
  part_ = &p;
}

void stepper::part_ended(operation& p, void* self) noexcept {
  auto& s = *static_cast<stepper*>(self);
  s.part_ = nullptr;
  s.advance_(s, s.reason_for(p.outcome()));
}

void stepper::on_cancel(operation&, void* self) noexcept {
  auto& s = *static_cast<stepper*>(self);
  operation* const part = s.part_;
  if (!s.dropped()) {
    if (part != nullptr && !s.undoing()) part->cancel();
    return;
  }
  if (s.where() == phase::ended) return;
  if (part == nullptr) return s.advance_(s, s.stop_reason());
  part->drop();
  part_ended(*part, self);
}

}  // namespace freehca

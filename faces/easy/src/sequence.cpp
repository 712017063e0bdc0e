// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void sequence::begin_in(adapter& owner, advancer next) {
  owner_ = &owner;
  begin_parts(next);
  reactor().watch(*this);
}

void sequence::begin_on(adapter& owner, connection_object& of, advancer next) {
  subject = verbs::handle_of(of);
  of.worked_on = true;
  begin_in(owner, next);
}

void sequence::begin_waiting(adapter& owner, canceller at_cancel) {
  owner_ = &owner;
  begin(at_cancel, &owner);
  reactor().watch(*this);
}

void sequence::refuse(adapter& owner, status why) {
  owner_ = &owner;
  reactor().refuse(*this, why);
}

connection_object* sequence::claim(adapter& owner, const connection& of) {
  connection_object* const p = owner.find(of);
  if (p != nullptr && !p->worked_on) return p;
  refuse(owner, p == nullptr ? driver_error::stale_handle : driver_error::busy);
  return nullptr;
}

connection_object* sequence::found() const {
  return owner_->objects().find(subject);
}

void sequence::end_work(status outcome) {
  if (connection_object* const p = found()) p->worked_on = false;
  complete(outcome);
}

reactor& sequence::reactor() const {
  return owner_->reactor();
}

void moving::move(layouts::qp_state to) {
  target = to;
  part(modification).start(owner().objects(), pair_handle, to, settings);
}

}  // namespace freehca::easy

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void sequence::begin_in(adapter& owner, advancer next) {
  owner_ = &owner;
  begin_parts(next);
  owner.reactor().watch(*this);
}

void sequence::wait_in(adapter& owner, place& where, canceller at_cancel) {
  owner_ = &owner;
  begin(at_cancel, &owner);
  where.waiting.push_back(*this);
  owner.reactor().watch(*this);
}

void sequence::set_deadline(std::uint64_t at) {
  if (under_way()) owner_->reactor().watch(*this, at);
  else operation::set_deadline(at);
}

void sequence::refuse(adapter& owner, status why) {
  owner_ = &owner;
  owner.reactor().refuse(*this, why);
}

void sequence::end_work(status outcome) {
  place_->worked_on = false;
  complete(outcome);
}

void making::undo(status why) {
  if (dropped()) {
    owner().leave(*place_);
    return complete(why);
  }
  begin_undoing(why);
  part(take_back_).start(owner(), *place_);
}

bool making::undone(status outcome) {
  if (!undoing()) return false;
  if (!outcome.ok()) owner().leave(*place_);
  complete(why());
  return true;
}

}  // namespace freehca::easy

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

void sequence::begin_in(adapter& owner, advancer next) {
  owner_ = &owner;
  advance_ = next;
  part_ = nullptr;
  undoing_ = false;
  why_ = {};
  begin(&sequence::on_cancel, this);
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

void sequence::finish(status outcome) {
  part_ = nullptr;
  complete(outcome);
}

void sequence::part_ended(operation& p, void* self) noexcept {
  auto& s = *static_cast<sequence*>(self);
  s.part_ = nullptr;
  status outcome = p.outcome();
  // The outcome is the reason for which the sequence was stopped. The part itself was only
  // cancelled.
  if (outcome.is(driver_error::cancelled) && !s.stop_reason().ok())
    outcome = s.stop_reason().at(outcome.where());
  s.advance_(s, outcome);
}

void sequence::on_cancel(operation&, void* self) noexcept {
  auto& s = *static_cast<sequence*>(self);
  operation* const part = s.part_;
  if (!s.dropped()) {
    if (part != nullptr && !s.undoing_) part->cancel();
  } else if (part != nullptr) {
    // From here on, the advancer starts no part. The adapter takes back the rest.
    part->drop();
    part_ended(*part, self);
  } else if (s.owner_->ending_ == &s) {
    s.advance_(s, s.stop_reason());
  }
}

}  // namespace freehca::easy

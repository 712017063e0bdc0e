// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/easy/adapter.hpp>

namespace freehca::easy {

void sequence::begin_in(adapter& owner, advancer next) {
  owner_ = &owner;
  advance_ = next;
  part_ = nullptr;
  undoing_ = false;
  why_ = {};
  begin(&sequence::on_cancel, this);
  limits_ = &owner.limits_;
  if (deadline() != no_deadline) set_deadline(deadline());
}

void sequence::wait_in(adapter& owner, place& where, canceller at_cancel) {
  owner_ = &owner;
  why_ = {};
  begin(at_cancel, &owner);
  where.waiting.push_back(*this);
  limits_ = &where.limits;
  limits_->add(*this);
}

void sequence::set_deadline(std::uint64_t at) {
  operation::set_deadline(at);
  if (limits_ == nullptr || (where() != phase::queued && where() != phase::in_flight)) return;
  if (!linked()) owner_->limited_.push_back(*this);
  limits_->add(*this);
}

void sequence::refuse(adapter& owner, status why) {
  owner_ = &owner;
  why_ = {};
  limits_ = nullptr;
  begin_refused(why);
  owner.ended_.push_back(*this);
}

void sequence::finish(status outcome) {
  limits_ = nullptr;
  part_ = nullptr;
  complete(outcome);
}

void sequence::part_ended(operation& p, void* self) noexcept {
  auto& s = *static_cast<sequence*>(self);
  s.part_ = nullptr;
  status outcome = p.outcome();
  // What the whole was told, and not what it told its part.
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
    // From here on the advancer begins nothing: what is left is the adapter's to take back.
    part->drop();
    part_ended(*part, self);
  } else if (s.owner_->ending_ == &s) {
    s.advance_(s, s.stop_reason());
  }
}

}  // namespace freehca::easy

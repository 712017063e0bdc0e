// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/reactor.hpp>

namespace freehca {

void reactor::watch(operation& o, std::uint64_t deadline) {
  if (o.state_ == operation::phase::ended) return;
  o.list_place<reactor>::unlink();
  o.deadline_ = deadline;
  if (deadline == clock::never) return;
  // The search begins at the back: a new deadline is usually the latest of all.
  operation* later = nullptr;
  for (operation* t = timers_.back(); t != nullptr && t->deadline_ > deadline;
       t = timers_.previous(*t))
    later = t;
  if (later == nullptr) timers_.push_back(o);
  else timers_.insert(*later, o);
}

void reactor::expire(std::uint64_t now) {
  // expire() of an operation ends it and completes none, so no callback can call this function
  // again.
  FREEHCA_ASSERT(!expiring_);
  expiring_ = true;
  while (!timers_.empty() && timers_.front()->deadline_ <= now) timers_.pop_front()->expire();
  expiring_ = false;
}

void reactor::end(operation& o, status outcome) {
  FREEHCA_ASSERT(o.under_way() && o.state_ != operation::phase::ended);
  o.unlink();
  o.list_place<reactor>::unlink();
  o.outcome_ = outcome;
  o.state_ = operation::phase::ended;
  ended_.push_back(o);
}

void reactor::refuse(operation& o, status why) {
  o.begin(nullptr, nullptr);
  end(o, why);
}

unsigned reactor::deliver() {
  if (!has_ended()) return 0;  // most polls find nothing
  batch_.take_all(ended_);
  unsigned completed = 0;
  for (; operation* const o = batch_.pop_front(); ++completed) o->complete(o->outcome_);
  return completed;
}

std::uint64_t reactor::next_deadline() const {
  if (awake_ || has_ended() || !mail.empty()) return 0;
  const operation* const first = timers_.front();
  return first != nullptr ? first->deadline_ : clock::never;
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/error_watch.hpp"

#include <algorithm>

#include "queues/queue_pairs.hpp"
#include "queues/receive_queues.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

void error_watch::touched(const queue_pair& qp) {
  const bool watched = qp.state == qp_state::error && qp.rq.ring.present && !qp.shared_receive &&
                       !qp.may_lack_receives();
  if (!watched) return;
  const std::uint64_t now = schedule_.now();
  if (all_.empty()) next_round_ = now + last_ns;
  all_.insert(qp.qpn);
  std::erase_if(recent_, [&qp](const recent& r) { return r.qpn == qp.qpn; });
  if (recent_.size() == remembered) recent_.pop_front();
  recent_.push_back({qp.qpn, now + first_ns, first_ns});
  arm();
}

void error_watch::arm() {
  schedule_.cancel(timer_);
  if (all_.empty()) return;
  std::uint64_t due = next_round_;
  for (const recent& r : recent_) due = std::min(due, r.due);
  timer_ = work_.at(due, {.kind = looks_due});
}

bool error_watch::look(std::uint32_t qpn) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr || qp->state != qp_state::error || !qp->rq.ring.present) {
    all_.erase(qpn);
    return false;
  }
  ++looks_;
  if (!receives_.has_some(*qp)) return false;
  errors_.flush(*qp);
  return true;
}

void error_watch::look_at_many() {
  for (std::size_t left = std::min(at_a_time, all_.size()); left != 0 && !all_.empty(); --left) {
    auto next = all_.upper_bound(after_);
    if (next == all_.end()) next = all_.begin();
    after_ = *next;
    look(after_);
  }
}

void error_watch::run() {
  const std::uint64_t now = schedule_.now();
  for (std::size_t n = recent_.size(); n != 0; --n) {
    recent r = recent_.front();
    recent_.pop_front();
    if (r.due > now) {
      recent_.push_back(r);
      continue;
    }
    // A driver that posts one may post another.
    r.interval = look(r.qpn) ? first_ns : 2 * r.interval;
    r.due = now + r.interval;
    if (r.interval < last_ns && all_.contains(r.qpn)) recent_.push_back(r);
  }
  if (next_round_ <= now) {
    look_at_many();
    next_round_ = now + last_ns;
  }
  arm();
}

void error_watch::clear() {
  schedule_.cancel(timer_);
  schedule_.discard(all_);
  recent_.clear();
  after_ = 0;
}

}  // namespace freehca::model

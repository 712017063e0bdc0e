// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/uar_looks.hpp"

#include "queues/completion_queues.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/wqe_reader.hpp"
#include "transport/send_engine.hpp"

namespace freehca::model {

void uar_looks::look(std::uint32_t page, kind what) {
  if (!a_.uars.uses(page)) return;
  ++looks_;
  const auto [here, begins] = waiting_.try_emplace({page, what});
  if (!begins) here->second.again = true;
  if (!scheduled_) look_on();
}

void uar_looks::look_on() {
  while (!waiting_.empty()) {
    auto here = waiting_.lower_bound(turn_);
    if (here == waiting_.end()) here = waiting_.begin();
    turn_ = {here->first.first, here->first.second};
    if (finish(here->first, here->second)) {
      if (here->second.again) here->second = {};
      else waiting_.erase(here);
    }
    if (a_.account.slice_over()) break;
  }
  if (waiting_.empty()) return;
  // The next one, so that a page of many queues does not keep the others waiting.
  const auto next = waiting_.upper_bound(turn_);
  turn_ = next == waiting_.end() ? place{} : next->first;
  scheduled_ = true;
  work_.soon({.kind = next_slice});
}

bool uar_looks::finish(const place& where, progress& p) {
  const auto& [page, what] = where;
  while (const auto number = a_.uars.next(page, what, p.from)) {
    a_.account.charge(work_account::entry);
    if (what == kind::send_queue) look_at_send_queue(*number);
    else a_.cqs->look_at_record(*number);
    p.from = *number + 1;
    if (a_.account.slice_over()) return !a_.uars.next(page, what, p.from);
  }
  return true;
}

void uar_looks::look_at_send_queue(std::uint32_t qpn) {
  if (queue_pair* qp = pairs_.find(qpn); qp != nullptr && is_given(a_, *qp, qp->sq.counter))
    sends_.found_given(*qp);
}

const char* uar_looks::broken_invariant() const {
  bool looked_at = turn_.second != kind::event_queue;
  for (const auto& [where, so_far] : waiting_)
    looked_at = looked_at && where.second != kind::event_queue;
  return looked_at ? nullptr : "event queues, which are not looked at";
}

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/uar_looks.hpp"

#include "queues/completion_queues.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/wqe_reader.hpp"
#include "saving/transfer.hpp"
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

template <class Archive>
void uar_looks::transfer_members(Archive& archive) {
  saving::transfer_members(archive, *this);
  const auto transfer_place = [&archive](place& where) {
    auto number = static_cast<std::uint8_t>(where.second);
    transfer(archive, where.first);
    transfer(archive, number);
    if constexpr (Archive::loads) {
      where.second = number == 0 ? kind::send_queue : kind::completion_queue;
      if (number != static_cast<std::uint8_t>(where.second))
        archive.refuse("queues of kind %u are not looked at", unsigned{number});
    }
  };
  archive.enter("turn");
  transfer_place(turn_);
  archive.leave();
  archive.enter("waiting");
  auto left = static_cast<std::uint32_t>(waiting_.size());
  transfer(archive, left);
  if constexpr (Archive::loads) {
    for (waiting_.clear(); left != 0 && archive.ok(); --left) {
      place where;
      transfer_place(where);
      const auto [here, is_new] = waiting_.try_emplace(where);
      if (!is_new) archive.refuse("a page comes twice");
      transfer(archive, here->second);
    }
  } else {
    for (auto& [where, so_far] : waiting_) {
      place written = where;
      transfer_place(written);
      transfer(archive, so_far);
    }
  }
  archive.leave();
}

void uar_looks::transfer_state(saving::writer& to) {
  transfer_members(to);
}

void uar_looks::transfer_state(saving::reader& from) {
  transfer_members(from);
}

}  // namespace freehca::model

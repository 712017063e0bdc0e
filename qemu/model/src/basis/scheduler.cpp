// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "basis/scheduler.hpp"

#include <algorithm>
#include <tuple>

namespace freehca::model {

scheduler::ticket scheduler::add(std::uint64_t due, work what, reason why, unsigned share) {
  if (halted_) return {};
  ++count(why);
  const ticket t{due, next_sequence_++, share};
  pending_[share].emplace(std::pair{t.due, t.sequence}, entry{std::move(what), why});
  arm();
  return t;
}

void scheduler::cancel(ticket& t) {
  queue& pending = pending_[t.share];
  if (const auto found = pending.find({t.due, t.sequence}); t && found != pending.end()) {
    --count(found->second.why);
    pending.erase(found);
  }
  t = {};
  arm();
}

std::optional<unsigned> scheduler::next_share(std::uint64_t until) const {
  std::optional<unsigned> first;
  const auto rank = [this](unsigned share) {
    const auto& [due, sequence] = pending_[share].begin()->first;
    return std::tuple{used_[share] / work_account::slice, due, sequence};
  };
  for (unsigned share = 0; share < shares; ++share) {
    if (pending_[share].empty() || pending_[share].begin()->first.first > until) continue;
    if (!first || rank(share) < rank(*first)) first = share;
  }
  return first;
}

void scheduler::discard_by(std::function<bool()> one) {
  // Most are small and go at once.
  discarded_.push_back(std::move(one));
  give_back();
  arm();
}

void scheduler::give_back() {
  // A piece can be large itself, and be discarded in turn.
  if (giving_back_) return;
  giving_back_ = true;
  while (!discarded_.empty() && !account_.slice_over()) {
    account_.charge(work_account::entry);
    if (!discarded_.front()()) discarded_.pop_front();
  }
  giving_back_ = false;
}

void scheduler::run_due() {
  ++turns_;
  running_ = true;
  armed_ = environment::never;
  used_ = {};
  account_.begin_slice();
  give_back();
  until_ = now();
  while (!account_.turn_over()) {
    std::optional<unsigned> next = next_share(until_);
    // The clock has run on meanwhile.
    if (!next) next = next_share(until_ = now());
    if (!next) break;
    share_ = *next;
    auto node = pending_[share_].extract(pending_[share_].begin());
    --count(node.mapped().why);
    account_.begin_slice();
    account_.charge(work_account::function);
    node.mapped().what();
    used_[*next] += account_.in_slice();
  }
  share_ = 0;
  running_ = false;
  if (first_due() <= until_) ++turns_cut_;
  arm();
}

void scheduler::halt() {
  clear();
  halted_ = true;
}

void scheduler::clear() {
  halted_ = false;
  counts_ = {};
  for (queue& q : pending_) discard(q);
  arm();
}

std::uint64_t scheduler::first_due() const {
  std::uint64_t due = discarded_.empty() ? environment::never : 0;
  for (const queue& q : pending_)
    if (!q.empty()) due = std::min(due, q.begin()->first.first);
  return due;
}

void scheduler::arm() {
  if (running_) return;
  const std::uint64_t due = first_due();
  if (due == armed_) return;
  armed_ = due;
  environment_.arm_timer(due);
}

}  // namespace freehca::model

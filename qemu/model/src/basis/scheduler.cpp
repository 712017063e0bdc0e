// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "basis/scheduler.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "saving/transfer.hpp"

namespace freehca::model {

scheduler::entry scheduler::line::take_first() {
  constexpr std::size_t worth_moving = 64;
  entry e = std::move(all_[first_].what);
  if (++first_ == all_.size()) {
    all_.clear();
    first_ = 0;
  } else if (first_ >= worth_moving && first_ >= all_.size() / 2) {
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return e;
}

std::optional<scheduler::reason> scheduler::line::remove(place where) {
  const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto found =
      std::lower_bound(begin, all_.end(), where,
                       [](const item& i, const place& wanted) { return i.where < wanted; });
  if (found == all_.end() || found->where != where) return std::nullopt;
  const reason why = found->what.why;
  all_.erase(found);
  return why;
}

scheduler::entry scheduler::queue::take_first() {
  if (later.empty() || (!at_once.empty() && at_once.first() < later.begin()->first))
    return at_once.take_first();
  return std::move(later.extract(later.begin()).mapped());
}

void scheduler::queue::add(place where, entry what) {
  const bool in_order = at_once.empty() || at_once.last() < where;
  if (what.why != reason::time && in_order) at_once.add(where, std::move(what));
  else later.emplace(where, std::move(what));
}

std::optional<scheduler::reason> scheduler::queue::remove(place where) {
  const auto found = later.find(where);
  return found != later.end() ? later.extract(found).mapped().why : at_once.remove(where);
}

std::uint16_t scheduler::add_receiver(std::string name, work_receiver& part) {
  assert(std::none_of(receivers_.begin(), receivers_.end(),
                      [&name](const receiver& r) { return r.name == name; }));
  receivers_.push_back({std::move(name), &part});
  return static_cast<std::uint16_t>(receivers_.size() - 1);
}

scheduler::ticket scheduler::add(std::uint64_t due, std::uint16_t part, work_item&& what,
                                 reason why, unsigned share) {
  if (halted_) return {};
  ++count(why);
  const ticket t{due, next_sequence_++, share};
  pending_[share].add({t.due, t.sequence}, {std::move(what), part, why});
  arm();
  return t;
}

void scheduler::cancel(ticket& t) {
  if (t)
    if (const auto why = pending_[t.share].remove({t.due, t.sequence})) --count(*why);
  t = {};
  arm();
}

std::optional<unsigned> scheduler::next_share(std::uint64_t until) const {
  const auto slices = [this](unsigned share) { return used_[share] / work_account::slice; };
  unsigned best = shares;
  place first_of_best = nowhere;
  for (unsigned share = 0; share < shares; ++share) {
    const place first = pending_[share].first();
    if (first.first > until || first == nowhere) continue;
    if (best != shares && std::pair{slices(share), first} > std::pair{slices(best), first_of_best})
      continue;
    best = share;
    first_of_best = first;
  }
  return best != shares ? std::optional(best) : std::nullopt;
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
    entry first = pending_[share_].take_first();
    --count(first.why);
    account_.begin_slice();
    account_.charge(work_account::function);
    receivers_[first.receiver].part->run_item(first.what);
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
  for (queue& q : pending_) {
    discard(q.later);
    auto gone = std::make_shared<line>(std::exchange(q.at_once, {}));
    discard_by([gone] {
      if (!gone->empty()) gone->take_first();
      return !gone->empty();
    });
  }
  arm();
}

void scheduler::free_discarded() {
  giving_back_ = true;
  while (!discarded_.empty()) {
    const auto one = std::move(discarded_.front());
    discarded_.pop_front();
    while (one()) continue;
  }
  giving_back_ = false;
  arm();
}

void scheduler::arm_after_load() {
  armed_ = environment::never;
  environment_.arm_timer(armed_);
  arm();
}

std::optional<std::uint16_t> scheduler::receiver_named(const std::string& name) const {
  for (std::size_t i = 0; i < receivers_.size(); ++i)
    if (receivers_[i].name == name) return static_cast<std::uint16_t>(i);
  return std::nullopt;
}

/// The items of a share, in the order of their places.
template <class Archive>
void scheduler::transfer_queue(Archive& archive, unsigned share) {
  queue& q = pending_[share];
  struct item {
    place where;
    entry what;
    std::string receiver;
  };
  const auto transfer_item = [&](item& i) {
    transfer(archive, i.where);
    transfer(archive, i.receiver);
    transfer(archive, i.what.what);
    saving::transfer_up_to(archive, i.what.why, reason::arrival);
  };
  std::uint32_t count = 0;
  if constexpr (!Archive::loads) {
    const auto write = [&](const place& where, const entry& e) {
      item i{where, e, name_of(e)};
      transfer_item(i);
    };
    q.each([&](const place&, const entry&) { ++count; });
    transfer(archive, count);
    q.each(write);
  } else {
    q = {};
    transfer(archive, count);
    for (; count != 0 && archive.ok(); --count) {
      item i;
      transfer_item(i);
      const auto to = receiver_named(i.receiver);
      if (!to)
        return archive.refuse("scheduled work for the unknown part %.100s", i.receiver.c_str());
      i.what.receiver = *to;
      if (i.where.second >= next_sequence_ || q.has(i.where))
        return archive.refuse(
            "scheduled work has the sequence number %llu, which is in use or not given yet",
            static_cast<unsigned long long>(i.where.second));
      ++this->count(i.what.why);
      q.add(i.where, std::move(i.what));
    }
  }
}

template <class Archive>
void scheduler::transfer_parts(Archive& archive) {
  transfer(archive, next_sequence_);
  transfer(archive, halted_);
  if (!archive.for_digest()) {
    transfer(archive, turns_);
    transfer(archive, turns_cut_);
  }
  if constexpr (Archive::loads) counts_ = {};
  for (unsigned share = 0; share < shares; ++share) transfer_queue(archive, share);
}

void scheduler::transfer_state(saving::writer& to) {
  transfer_parts(to);
}
void scheduler::transfer_state(saving::reader& from) {
  transfer_parts(from);
}

std::uint64_t scheduler::first_due() const {
  std::uint64_t due = discarded_.empty() ? environment::never : 0;
  for (const queue& q : pending_) due = std::min(due, q.first().first);
  return due;
}

void scheduler::arm() {
  if (running_) return;
  const std::uint64_t due = first_due();
  if (due == armed_) return;
  armed_ = due;
  environment_.arm_timer(clock_.on_environment(due));
}

}  // namespace freehca::model

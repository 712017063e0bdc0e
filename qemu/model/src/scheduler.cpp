// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "scheduler.hpp"

namespace freehca::model {

scheduler::ticket scheduler::add(std::uint64_t due, work what, reason why) {
  if (halted_) return {};
  ++count(why);
  const ticket t{due, next_sequence_++};
  pending_.emplace(std::pair{t.due, t.sequence}, entry{std::move(what), why});
  arm();
  return t;
}

void scheduler::cancel(ticket& t) {
  if (const auto found = pending_.find({t.due, t.sequence}); t && found != pending_.end()) {
    --count(found->second.why);
    pending_.erase(found);
  }
  t = {};
  arm();
}

void scheduler::run_due(unsigned limit) {
  running_ = true;
  armed_ = environment::never;
  const std::uint64_t until = now();
  for (unsigned done = 0;
       done < limit && !pending_.empty() && pending_.begin()->first.first <= until; ++done) {
    auto node = pending_.extract(pending_.begin());
    --count(node.mapped().why);
    node.mapped().what();
  }
  running_ = false;
  arm();
}

void scheduler::halt() {
  clear();
  halted_ = true;
}

void scheduler::clear() {
  halted_ = false;
  pending_.clear();
  counts_ = {};
  arm();
}

void scheduler::arm() {
  if (running_) return;
  const std::uint64_t due = pending_.empty() ? environment::never : pending_.begin()->first.first;
  if (due == armed_) return;
  armed_ = due;
  environment_.arm_timer(due);
}

}  // namespace freehca::model

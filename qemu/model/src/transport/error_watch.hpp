// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <set>

#include "basis/scheduler.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class queue_pairs;
class receive_queues;
class work_errors;

/// Looks for receives that are posted in the error state. They have no doorbell, and are flushed
/// all the same: the kernel's ib_drain_rq posts one there and waits for it. How hardware notices
/// has no source: chosen.
///
/// All queue pairs in the error state share one timer. Those that a driver has just shown to be at
/// work with (a transition to the error state, a doorbell) are looked at soon, and again in times
/// that double; when these are over, or more come than are remembered, a queue pair is one of the
/// many, of which a fixed number is looked at in each period. So the cost of a second does not grow
/// with the number of queue pairs; what grows, beyond that number, is how long a receive that is
/// posted much later waits for its flush (docs/hardware-transport.md).
class error_watch final : private work_receiver {
 public:
  error_watch(scheduler& schedule, queue_pairs& pairs, receive_queues& receives,
              work_errors& errors)
      : schedule_(schedule),
        work_(schedule, "error watch", *this),
        pairs_(pairs),
        receives_(receives),
        errors_(errors) {}

  static constexpr std::uint64_t first_ns = 10'000, last_ns = 10'000'000;
  static constexpr std::size_t at_a_time = 64;  ///< of the many, in each last_ns
  static constexpr std::size_t remembered = 64;

  /// A driver is at work with `qp`, which is in the error state and has a receive queue.
  void touched(const queue_pair& qp);
  void clear();

  /// Doorbell records read so far.
  const std::uint64_t& looks() const { return looks_; }

 private:
  struct recent {
    std::uint32_t qpn;
    std::uint64_t due, interval;

    using saved = saving::fields<&recent::qpn, &recent::due, &recent::interval>;
    const char* broken_invariant() const {
      // The intervals double: 0 would have no end.
      return interval >= first_ns && interval < last_ns ? nullptr : "an interval out of bounds";
    }
  };
  void arm();
  void run();
  /// Whether there was a receive, which will be flushed.
  bool look(std::uint32_t qpn);
  void look_at_many();

  enum work : std::uint8_t { looks_due };
  void run_item(work_item&) override {
    timer_ = {};
    run();
  }

  scheduler& schedule_;
  work_source work_;
  queue_pairs& pairs_;
  receive_queues& receives_;
  work_errors& errors_;
  std::set<std::uint32_t> all_;  ///< numbers in the table; some may have left the error state
  std::uint32_t after_ = 0;      ///< of the many: where the next looks begin
  std::deque<recent> recent_;
  std::uint64_t next_round_ = 0;  ///< when the many are looked at
  std::uint64_t looks_ = 0;
  scheduler::ticket timer_;

 public:
  using saved =
      saving::fields<&error_watch::all_, &error_watch::after_, &error_watch::recent_,
                     &error_watch::next_round_, &error_watch::looks_, &error_watch::timer_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
  const char* broken_invariant() const {
    return recent_.size() <= remembered ? nullptr : "more queue pairs than are remembered";
  }
};

}  // namespace freehca::model

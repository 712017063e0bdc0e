// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/clock.hpp>
#include <freehca/hal/crossing.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// The event loop of one owner. Everything of the owner that waits is here: operations that have a
/// deadline, operations that have ended and are not completed yet, requests of other owners, and
/// the wish to be polled again at once. The owner's poll() calls expire() and deliver();
/// the owner's next_deadline() asks this one.
///
/// An operation is in one list of a reactor at a time, and leaves it when it is destroyed. The
/// owner's thread only, but for mail.put() and mail.notify().
class reactor {
 public:
  reactor() = default;
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  inbox mail;  ///< what other owners ask of this one

  /// Calls expire() of `o` when its deadline has passed and it is still under way.
  void watch(operation& o) { watch(o, o.deadline()); }
  /// The same with another deadline, which may be called again. No effect on what has ended.
  void watch(operation& o, std::uint64_t deadline);
  /// Expires the operations whose deadlines have passed, in the order of their deadlines. Completes
  /// nothing.
  void expire(std::uint64_t now);

  /// The outcome of `o` is known: the next deliver() completes it. From then on cancel() and
  /// the deadline have no effect.
  void end(operation& o, status outcome);
  /// Takes `o`, which has not begun, over only to end it.
  void refuse(operation& o, status why);
  /// Completes the operations that have ended before the call, in the order of their ends, and
  /// returns their number. An operation that ends while others are delivered waits for the next
  /// call: a callback that starts again what is refused at once does not keep this call alive. A
  /// callback may call this too: it then completes what its caller had still to do, first.
  unsigned deliver();
  /// An operation waits for deliver().
  bool has_ended() const { return !ended_.empty() || !batch_.empty(); }
  /// Takes over the operations of `other` that have ended.
  void take_ended(reactor& other) {
    ended_.take_all(other.batch_);
    ended_.take_all(other.ended_);
  }

  /// The owner's poll() has something to do.
  void wake() { awake_ = true; }
  /// poll() has begun: what wakes the owner from here on is for the next one.
  void begin_poll() { awake_ = false; }
  /// When poll() is due at the latest; 0: at once.
  std::uint64_t next_deadline() const;

 private:
  list<operation, reactor> timers_;  // in the order of their deadlines
  list<operation, reactor> ended_;
  list<operation, reactor> batch_;  // what deliver() completes: also a call from inside a callback
  bool awake_ = false;
  bool expiring_ = false;
};

}  // namespace freehca

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

/// The program's answer to the question whether the calling thread has entered an owner: it holds
/// the program's lock for this owner, or no other thread uses the owner. The core has no lock and
/// does not know threads. Several threads may ask at a time.
struct entry_check {
  bool (*entered)(void* context) noexcept = nullptr;  ///< null: the program does not answer
  void* context = nullptr;

  bool passes() const { return entered != nullptr && entered(context); }
  bool fails() const { return entered != nullptr && !entered(context); }
};

/// The event loop of one owner. It has the operations of the owner with a deadline, the operations
/// that have ended and are not completed yet, the requests of other owners, and the request to be
/// polled again at once. The owner's poll() calls expire() and deliver(). The owner's
/// next_deadline() calls next_deadline() of the reactor.
///
/// An operation is in one list of a reactor at a time. It leaves the list when it is destroyed.
/// Only a thread that has entered the owner uses a reactor, except for mail.put(), mail.notify()
/// and `entry`.
class reactor {
 public:
  reactor() = default;
  reactor(const reactor&) = delete;
  reactor& operator=(const reactor&) = delete;

  inbox mail;         ///< requests of other owners to this one
  entry_check entry;  ///< does not change while there are other owners

  /// Calls expire() of `o` if its deadline passes while it is under way.
  void watch(operation& o) { watch(o, o.deadline()); }
  /// The same with another deadline. A second call replaces the deadline. No effect on an operation
  /// that has ended.
  void watch(operation& o, std::uint64_t deadline);
  /// Expires the operations whose deadlines have passed, in the order of their deadlines. Completes
  /// nothing.
  void expire(std::uint64_t now);

  /// Sets the outcome of `o`, which the next deliver() completes. From then on, cancel() and the
  /// deadline have no effect.
  void end(operation& o, status outcome);
  /// Takes over `o`, which has not begun, and ends it with `why`.
  void refuse(operation& o, status why);
  /// Completes the operations that ended before the call, in the order of their ends. Returns the
  /// number of operations that this call completed. An operation that ends during the delivery
  /// waits for the next call. A callback that restarts an operation which is refused at once
  /// therefore does not keep this call running. A callback may call deliver() too. The inner call
  /// then first completes the operations that the outer call still had to complete.
  unsigned deliver();
  /// True if an operation waits for deliver().
  bool has_ended() const { return !ended_.empty() || !batch_.empty(); }
  /// Takes over the operations of `other` that have ended.
  void take_ended(reactor& other) {
    ended_.take_all(other.batch_);
    ended_.take_all(other.ended_);
  }

  /// Notes that the owner's poll() has work: next_deadline() is 0 until the next begin_poll().
  void wake() { awake_ = true; }
  /// The owner calls this at the beginning of poll(). A later wake() causes the next poll().
  void begin_poll() { awake_ = false; }
  /// The latest time of the next poll(), in nanoseconds of the platform's clock. 0 means at once.
  std::uint64_t next_deadline() const;

 private:
  list<operation, reactor> timers_;  // in the order of their deadlines
  list<operation, reactor> ended_;
  list<operation, reactor> batch_;  // for deliver(), and for a deliver() inside a callback
  bool awake_ = false;
  bool expiring_ = false;
};

}  // namespace freehca

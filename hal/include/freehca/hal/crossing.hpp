// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Messages between owners, without locks and allocations. Each owner is on a thread of its own.
// docs/memory-order.md has the memory order and its tests.
#pragma once

#include <cstdint>

#include <freehca/hal/atomics.hpp>

namespace freehca {

/// A message to another owner. The sender owns the crossing. A crossing is in one inbox at a time,
/// and must not be moved or destroyed until it has arrived. `arrive` sees everything that was
/// written before inbox::put().
template <class Atomics>
struct basic_crossing {
  /// Called inside poll() of the receiving owner. The crossing is in no inbox by then, so `arrive`
  /// may send it back.
  using arrival = void (*)(basic_crossing& what) noexcept;
  arrival arrive = nullptr;

 private:
  template <class>
  friend class basic_inbox;
  typename Atomics::template atomic<basic_crossing*> next_{nullptr};
};
using crossing = basic_crossing<atomics>;

/// A crossing with a pointer to its subject. The subject must exist until the crossing has arrived.
template <class T>
struct crossing_of : crossing {
  explicit crossing_of(T& what) : about(&what) {}
  T* about;
  static T& at(crossing& c) { return *static_cast<crossing_of&>(c).about; }
};

/// The queue of messages to one owner, and the means to wake this owner when it sleeps. Many
/// threads put, one thread takes, first in, first out (Vyukov's queue of intrusive nodes).
///
/// Before it sleeps, the owner polls until there is nothing to do, and then calls
/// prepare_to_sleep(). If that returns true, the owner sleeps until `wake` is called. Either
/// prepare_to_sleep() sees the new message, or the thread that puts it sees that the owner sleeps,
/// and wakes the owner.
template <class Atomics>
class basic_inbox {
 public:
  using crossing = basic_crossing<Atomics>;
  using waker = void (*)(void* context) noexcept;

  /// Sets the function that wakes the owner. The thread that puts a message calls `wake`, at most
  /// once for each sleep. If `wake` is null, the owner never sleeps, or wakes up by itself. open()
  /// must be called before the first put().
  void open(waker wake, void* context) {
    wake_ = wake;
    context_ = context;
  }

  /// Called by any thread, but not in interrupt context: if a put() is interrupted half-way, the
  /// messages that were put after it stay hidden until the interrupted put() continues.
  void put(crossing& what) noexcept {
    append(what);
    notify();
  }
  /// Wakes the owner if it sleeps. Called by any thread that has work for the owner outside of this
  /// inbox.
  void notify() noexcept {
    Atomics::fence(seq_cst);
    if (state_.load(relaxed) == asleep && state_.exchange(awake, relaxed) == asleep &&
        wake_ != nullptr)
      wake_(context_);
  }

  // Called by the owner's thread only.

  /// Takes at most `limit` messages and calls `arrive` of each. Returns the number of messages
  /// taken.
  unsigned take(unsigned limit = 64) noexcept {
    stay_awake();
    unsigned count = 0;
    for (crossing* what; count < limit && (what = next()) != nullptr; ++count) what->arrive(*what);
    return count;
  }
  /// Removes `what` without a call of `arrive`. The other messages keep their order. Returns false
  /// if `what` is not in the inbox.
  bool take_out(const crossing& what) noexcept {
    for (crossing *last = &kept_, *here;; last = here) {
      here = last->next_.load(relaxed);
      if (here == nullptr) {
        if ((here = next_put()) == nullptr) return false;
        here->next_.store(nullptr, relaxed);
        last->next_.store(here, relaxed);
      }
      if (here == &what) {
        last->next_.store(what.next_.load(relaxed), relaxed);
        return true;
      }
    }
  }
  /// Returns false if there is a message: the owner must poll once more. The owner checks its other
  /// sources of work after this call, before it sleeps.
  bool prepare_to_sleep() noexcept {
    state_.store(asleep, relaxed);
    Atomics::fence(seq_cst);
    if (empty()) return true;
    stay_awake();
    return false;
  }
  void stay_awake() noexcept {
    if (state_.load(relaxed) == asleep) state_.store(awake, relaxed);
  }
  bool empty() const noexcept {
    return kept_.next_.load(relaxed) == nullptr && head_ == &stub_ &&
           stub_.next_.load(relaxed) == nullptr;
  }

 private:
  using enum std::memory_order;
  // 32-bit words: an exchange of less is a library call on some machines.
  static constexpr std::uint32_t awake = 0, asleep = 1;

  void append(crossing& what) noexcept {
    what.next_.store(nullptr, relaxed);
    crossing* const last = tail_.exchange(&what, acq_rel);
    last->next_.store(&what, release);
  }
  crossing* next() noexcept {
    crossing* const first = kept_.next_.load(relaxed);
    if (first == nullptr) return next_put();
    kept_.next_.store(first->next_.load(relaxed), relaxed);
    return first;
  }
  /// Returns null if there is no message, or if a put() is half done. That put() has not yet called
  /// notify().
  crossing* next_put() noexcept {
    if (head_ == &stub_) {
      crossing* const put = stub_.next_.load(acquire);
      if (put == nullptr) return nullptr;
      head_ = put;
    }
    crossing* const first = head_;
    // The last node can be removed only when another node is behind it.
    if (first->next_.load(relaxed) == nullptr && first == tail_.load(relaxed)) append(stub_);
    crossing* const behind = first->next_.load(acquire);
    if (behind == nullptr) return nullptr;
    head_ = behind;
    return first;
  }

  crossing stub_;
  crossing* head_ = &stub_;
  crossing kept_;  // head of a list of messages that are older than those in the queue
  waker wake_ = nullptr;
  void* context_ = nullptr;
  // Other threads write these members. They are not in the cache lines of the members that only the
  // owner writes.
  alignas(64) typename Atomics::template atomic<crossing*> tail_{&stub_};
  typename Atomics::template atomic<std::uint32_t> state_{awake};
};
using inbox = basic_inbox<atomics>;

}  // namespace freehca

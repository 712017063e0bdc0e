// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How one owner asks another, each on a thread of its own: no lock, no allocation. What orders
// what, and what shows it: docs/memory-order.md.
#pragma once

#include <cstdint>

#include <freehca/hal/atomics.hpp>

namespace freehca {

/// Something on its way to another owner. It belongs to whoever sends it, is in one inbox at a
/// time, and must stay where it is until it has arrived. What is written before inbox::put() is
/// seen by `arrive`.
template <class Atomics>
struct basic_crossing {
  /// Called from the receiving owner's poll(). The crossing is free again by then: it may be sent
  /// back.
  using arrival = void (*)(basic_crossing& what) noexcept;
  arrival arrive = nullptr;

 private:
  template <class>
  friend class basic_inbox;
  typename Atomics::template atomic<basic_crossing*> next_{nullptr};
};
using crossing = basic_crossing<atomics>;

/// One that knows what it is about, which outlives its way.
template <class T>
struct crossing_of : crossing {
  explicit crossing_of(T& what) : about(&what) {}
  T* about;
  static T& at(crossing& c) { return *static_cast<crossing_of&>(c).about; }
};

/// What others ask of one owner: many put, one takes, first in first out (Vyukov's queue of
/// intrusive nodes), and the way to wake an owner that sleeps.
///
/// How the owner sleeps: poll until there is nothing to do; prepare_to_sleep(); when that is true,
/// sleep until `wake` was called. Either prepare_to_sleep() sees what was put, or whoever puts sees
/// that the owner sleeps, and wakes it.
template <class Atomics>
class basic_inbox {
 public:
  using crossing = basic_crossing<Atomics>;
  using waker = void (*)(void* context) noexcept;

  /// `wake` is called on the thread of whoever puts, at most once for each sleep; null: the owner
  /// never sleeps, or wakes up by itself. Before anybody puts.
  void open(waker wake, void* context) {
    wake_ = wake;
    context_ = context;
  }

  /// Any thread, but not interrupt context: a put that is interrupted half-way hides what was put
  /// behind it until it goes on.
  void put(crossing& what) noexcept {
    append(what);
    notify();
  }
  /// There is something for the owner elsewhere: wakes it if it sleeps. Any thread.
  void notify() noexcept {
    Atomics::fence(seq_cst);
    if (state_.load(relaxed) == asleep && state_.exchange(awake, relaxed) == asleep &&
        wake_ != nullptr)
      wake_(context_);
  }

  // The owner's thread alone.

  /// Takes in what has come, at most `limit`, and calls `arrive` of each. Returns how many.
  unsigned take(unsigned limit = 64) noexcept {
    stay_awake();
    unsigned count = 0;
    for (crossing* what; count < limit && (what = next()) != nullptr; ++count) what->arrive(*what);
    return count;
  }
  /// Takes `what` out of what has come, without a call; the others keep their order. False: it has
  /// not come.
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
  /// False: something has come, poll once more. What else the owner has to look at before it sleeps
  /// it looks at behind this.
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
  // Words: an exchange of less is a library call on some machines.
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
  /// Null: there is nothing, or a put is half done; its notify() is still to come.
  crossing* next_put() noexcept {
    if (head_ == &stub_) {
      crossing* const put = stub_.next_.load(acquire);
      if (put == nullptr) return nullptr;
      head_ = put;
    }
    crossing* const first = head_;
    // The last one can leave only when something stands behind it.
    if (first->next_.load(relaxed) == nullptr && first == tail_.load(relaxed)) append(stub_);
    crossing* const behind = first->next_.load(acquire);
    if (behind == nullptr) return nullptr;
    head_ = behind;
    return first;
  }

  crossing stub_;
  crossing* head_ = &stub_;
  crossing kept_;  // the end of a list of those that came before what the queue has
  waker wake_ = nullptr;
  void* context_ = nullptr;
  // Written by others: not in the cache lines of what the owner writes.
  alignas(64) typename Atomics::template atomic<crossing*> tail_{&stub_};
  typename Atomics::template atomic<std::uint32_t> state_{awake};
};
using inbox = basic_inbox<atomics>;

}  // namespace freehca

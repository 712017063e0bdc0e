// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How one owner asks another, each on a thread of its own: no lock, no allocation. What orders
// what, and what shows it: docs/memory-order.md.
#pragma once

#include <atomic>
#include <cstdint>

namespace freehca {

/// Something on its way to another owner. It belongs to whoever sends it, is in one inbox at a
/// time, and must stay where it is until it has arrived. What is written before inbox::put() is
/// seen by `arrive`.
struct crossing {
  /// Called from the receiving owner's poll(). The crossing is free again by then: it may be sent
  /// back.
  using arrival = void (*)(crossing& what) noexcept;
  arrival arrive = nullptr;

 private:
  friend class inbox;
  std::atomic<crossing*> next_{nullptr};
};

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
class inbox {
 public:
  using waker = void (*)(void* context) noexcept;

  inbox() = default;
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

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
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (state_.load(std::memory_order_relaxed) == asleep &&
        state_.exchange(awake, std::memory_order_relaxed) == asleep && wake_ != nullptr)
      wake_(context_);
  }

  // The owner's thread alone.

  /// Takes in what has come, at most `limit`, and calls `arrive` of each. Returns how many.
  unsigned take(unsigned limit = 64) noexcept {
    stay_awake();
    unsigned count = 0;
    for (; count < limit; ++count) {
      crossing* const what = next();
      if (what == nullptr) break;
      what->arrive(*what);
    }
    return count;
  }
  /// Takes `what` out of what has come, without a call; the others keep their order. False: it has
  /// not come.
  bool take_out(const crossing& what) noexcept {
    constexpr auto own = std::memory_order_relaxed;  // nobody else has them any more
    crossing* last = nullptr;
    crossing* ahead = nullptr;
    for (crossing* c = kept_; c != nullptr; c = c->next_.load(own)) last = c;
    while (crossing* const come = next_put()) {
      come->next_.store(nullptr, own);
      if (last == nullptr) kept_ = come;
      else last->next_.store(come, own);
      last = come;
    }
    crossing* found = kept_;
    for (; found != nullptr && found != &what; found = found->next_.load(own)) ahead = found;
    if (found == nullptr) return false;
    crossing* const behind = found->next_.load(own);
    if (ahead == nullptr) kept_ = behind;
    else ahead->next_.store(behind, own);
    return true;
  }
  /// False: something has come, poll once more. What else the owner has to look at before it sleeps
  /// it looks at behind this.
  bool prepare_to_sleep() noexcept {
    state_.store(asleep, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (empty()) return true;
    stay_awake();
    return false;
  }
  void stay_awake() noexcept {
    if (state_.load(std::memory_order_relaxed) == asleep)
      state_.store(awake, std::memory_order_relaxed);
  }
  bool empty() const noexcept {
    return kept_ == nullptr && head_ == &stub_ &&
           stub_.next_.load(std::memory_order_acquire) == nullptr;
  }

 private:
  // Words: an exchange of less is a library call on some machines.
  static constexpr std::uint32_t awake = 0, asleep = 1;

  void append(crossing& what) noexcept {
    what.next_.store(nullptr, std::memory_order_relaxed);
    crossing* const last = tail_.exchange(&what, std::memory_order_acq_rel);
    last->next_.store(&what, std::memory_order_release);
  }
  crossing* next() noexcept {
    crossing* const first = kept_;
    if (first == nullptr) return next_put();
    kept_ = first->next_.load(std::memory_order_relaxed);
    return first;
  }
  /// Null: there is nothing, or a put is half done; its notify() is still to come.
  crossing* next_put() noexcept {
    crossing* first = head_;
    crossing* behind = first->next_.load(std::memory_order_acquire);
    if (first == &stub_) {
      if (behind == nullptr) return nullptr;
      head_ = first = behind;
      behind = first->next_.load(std::memory_order_acquire);
    }
    if (behind == nullptr) {
      if (first != tail_.load(std::memory_order_acquire)) return nullptr;
      // The last one can leave only when something stands behind it.
      append(stub_);
      behind = first->next_.load(std::memory_order_acquire);
      if (behind == nullptr) return nullptr;
    }
    head_ = behind;
    return first;
  }

  crossing stub_;
  crossing* head_ = &stub_;
  crossing* kept_ = nullptr;  // came before what the queue has
  waker wake_ = nullptr;
  void* context_ = nullptr;
  // Written by others: not in the cache lines of what the owner writes.
  alignas(64) std::atomic<crossing*> tail_{&stub_};
  std::atomic<std::uint32_t> state_{awake};
};

}  // namespace freehca

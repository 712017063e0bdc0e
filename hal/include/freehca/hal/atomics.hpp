// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstdint>

namespace freehca {

/// The atomics of all code that orders host threads by memory order: std::atomic. The tests of
/// memory order (tests/litmus) compile the same code with atomics of their own. Those atomics are
/// not copyable, and each access names its order.
struct atomics {
  template <class T>
  using atomic = std::atomic<T>;
  static void fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
};

/// Counts the interrupts of a vector. One thread or interrupt handler at a time calls note(), and
/// the owner calls see(). If see() has counted an interrupt, the interrupt was noted before see()
/// returned, and the owner finds the event that caused it. Each of the two numbers has one writer,
/// so no note is overwritten. No read-modify-write is needed, which is a library call on some
/// machines.
template <class Atomics = atomics>
class interrupt_count {
 public:
  /// Must not overlap a call of note() or see().
  void reset() noexcept { noted_.store(seen_ = 0, std::memory_order::relaxed); }
  void note() noexcept { noted_.store(noted() + 1, std::memory_order::release); }
  std::uint64_t noted() const noexcept { return noted_.load(std::memory_order::relaxed); }

  // Called by the owner's thread only.

  bool unseen() const noexcept { return noted() != seen_; }
  /// Returns true if there were unseen interrupts. All interrupts noted so far count as seen.
  bool see() noexcept {
    const std::uint64_t before = seen_;
    return (seen_ = noted_.load(std::memory_order::acquire)) != before;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> noted_{0};
  std::uint64_t seen_ = 0;
};

}  // namespace freehca

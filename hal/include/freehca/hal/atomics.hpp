// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstdint>

namespace freehca {

/// The atomics of everything that orders threads of the host by memory order: std::atomic. The
/// tests of memory order run the same text over atomics of their own (tests/litmus). Such atomics
/// are not copyable, and each access names its order.
struct atomics {
  template <class T>
  using atomic = std::atomic<T>;
  static void fence(std::memory_order order) noexcept { std::atomic_thread_fence(order); }
};

/// The interrupts of a vector. One thread or interrupt handler at a time notes them, and the owner
/// sees them. An interrupt that see() has counted was noted before see() returned: the owner finds
/// the event that caused it. Each number has one writer, so no note is overwritten, and no
/// read-modify-write is needed, which is a library call on some machines.
template <class Atomics = atomics>
class interrupt_count {
 public:
  /// While nothing notes or sees.
  void reset() noexcept { noted_.store(seen_ = 0, std::memory_order::relaxed); }
  void note() noexcept { noted_.store(noted() + 1, std::memory_order::release); }
  std::uint64_t noted() const noexcept { return noted_.load(std::memory_order::relaxed); }

  // The owner's thread alone.

  bool unseen() const noexcept { return noted() != seen_; }
  /// True: there were unseen ones.
  bool see() noexcept {
    const std::uint64_t before = seen_;
    return (seen_ = noted_.load(std::memory_order::acquire)) != before;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> noted_{0};
  std::uint64_t seen_ = 0;
};

}  // namespace freehca

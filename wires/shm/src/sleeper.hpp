// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace freehca::wires::shm {

/// Sleeps on a word of shared memory until futex_wake(), a signal or the timeout, unless the word
/// differs from `seen`. ~0: no timeout.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                       std::uint64_t nanoseconds) {
  constexpr std::uint64_t second = 1'000'000'000;
  const timespec most{static_cast<time_t>(nanoseconds / second),
                      static_cast<long>(nanoseconds % second)};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, nanoseconds == ~std::uint64_t{0} ? nullptr : &most,
          nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace freehca::wires::shm

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace freehca::vfio_host {

/// Nanoseconds of CLOCK_MONOTONIC.
inline std::uint64_t monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

/// How long to sleep until `deadline`; 0: not at all. An idle driver is looked at once a second all
/// the same: a lost interrupt must not stop it.
inline timespec sleep_until(std::uint64_t deadline) {
  timespec time{};
  const std::uint64_t now = deadline == 0 ? 0 : monotonic_now();
  if (deadline <= now) return time;
  const std::uint64_t sleep = std::min<std::uint64_t>(deadline - now, 1'000'000'000);
  time.tv_sec = static_cast<time_t>(sleep / 1'000'000'000);
  time.tv_nsec = static_cast<long>(sleep % 1'000'000'000);
  return time;
}

/// Makes an eventfd readable anew. Its count would have to run full before that fails.
inline void ring(int event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

}  // namespace freehca::vfio_host

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <time.h>

#include <cstdint>

namespace freehca::in_program {

/// Nanoseconds on one of Linux's clocks.
inline std::uint64_t nanoseconds_of(clockid_t which) {
  timespec t{};
  clock_gettime(which, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

/// Nanoseconds on the machine's monotonic clock.
inline std::uint64_t machine_time() {
  return nanoseconds_of(CLOCK_MONOTONIC);
}

/// Nanoseconds that the threads of this process have run.
inline std::uint64_t processor_time() {
  return nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace freehca::in_program

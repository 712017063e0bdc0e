// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <time.h>

#include <cstdint>

namespace freehca::in_program {

/// Nanoseconds on the machine's monotonic clock.
inline std::uint64_t machine_time() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace freehca::in_program

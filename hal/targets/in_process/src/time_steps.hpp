// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>

#include <freehca/hal/clock.hpp>
#include <freehca/model/environment.hpp>

namespace freehca::in_process {

/// Nanoseconds by which the clock moves after the adapter has worked, before the driver looks.
inline constexpr std::uint64_t glance = clock::microseconds(1);
/// Nanoseconds by which the clock moves when the driver polls again and the adapter has no work.
inline constexpr std::uint64_t idle_poll = clock::microseconds(100);

/// Returns the time to which the clock moves next. `deadline` is the driver's next_deadline().
/// `due` is the time of the adapter's next work.
inline std::uint64_t next_instant(std::uint64_t now, std::uint64_t deadline, std::uint64_t due) {
  const std::uint64_t next = std::min(deadline <= now ? now + idle_poll : deadline, due);
  return next == model::environment::never ? now + idle_poll : next;
}

}  // namespace freehca::in_process

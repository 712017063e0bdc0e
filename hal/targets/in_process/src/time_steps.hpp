// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>

#include <freehca/hal/clock.hpp>
#include <freehca/model/environment.hpp>

namespace freehca::in_process {

/// How far the clock moves after the adapter worked, before the driver looks.
inline constexpr std::uint64_t glance = clock::microseconds(1);
/// How far the clock moves when the driver polls again and the adapter has no work.
inline constexpr std::uint64_t idle_poll = clock::microseconds(100);

/// The next instant for a driver whose next_deadline() is `deadline` and an adapter that has work
/// at `due`.
inline std::uint64_t next_instant(std::uint64_t now, std::uint64_t deadline, std::uint64_t due) {
  const std::uint64_t next = std::min(deadline <= now ? now + idle_poll : deadline, due);
  return next == model::environment::never ? now + idle_poll : next;
}

}  // namespace freehca::in_process

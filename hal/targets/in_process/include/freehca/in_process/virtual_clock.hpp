// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>

namespace freehca::in_process {

/// The time of one machine, or of several machines that share it (machine_options::clock). Only
/// move_to() moves it. It is not synchronized between threads.
class virtual_clock {
 public:
  /// Nanoseconds. The clock begins at 1 ms, so that time 0 is in the past.
  std::uint64_t now() const { return now_; }
  /// Moves the clock to `time`. No effect if `time` is in the past.
  void move_to(std::uint64_t time) { now_ = std::max(now_, time); }

 private:
  std::uint64_t now_ = 1'000'000;
};

}  // namespace freehca::in_process

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>

#include <freehca/hca/every_kind.hpp>

namespace freehca::bench {

/// A driver whose adapter is up, in process or over VFIO, and how to drive it.
struct driven {
  device& adapter;
  verbs& objects;
  pd_handle domain{};
  cq_handle completions{};             ///< of all queue pairs, sends and receives
  std::function<std::uint64_t()> now;  ///< nanoseconds, of the clock that is measured with
  /// Runs the driver until it says true. Each command has a time limit, so that it does; fails when
  /// nothing is left that could change it.
  std::function<status(const std::function<bool()>& done)> until;
};

struct connecting_options {
  unsigned queue_pairs = 4096;
  unsigned at_a_time = 64;  ///< queue pairs that are being connected at the same time
  std::function<void()> connected = [] {};  ///< called once, when all are in RTS
};

struct connecting_result {
  status outcome;
  std::uint64_t commands = 0;
  std::uint64_t nanoseconds = 0;
};

/// RC queue pairs from nothing to RTS: creates each with room for one request of one entry either
/// way, and connects it to itself on port 1, which is active. Measures that; then destroys them.
/// linux_ibverbs.cpp does the same.
connecting_result connect_queue_pairs(const driven& by, const connecting_options& how);

}  // namespace freehca::bench

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/model/options.hpp>

namespace freehca::bench {

/// One measurement: RC queue pairs from nothing to RTS.
struct connecting_options {
  unsigned queue_pairs = 4096;
  unsigned at_a_time = 64;            ///< queue pairs that are being connected at the same time
  std::uint64_t latency_ns = 50'000;  ///< of a command
  std::uint64_t post_ns = 1'000;      ///< of the processor, to hand a command to the adapter
  unsigned log_max_commands = 4;      ///< what the firmware takes at a time
  bool side_by_side = true;           ///< false: it works on one after the other
};

struct connecting_result {
  status outcome;
  std::uint64_t commands = 0;
  std::uint64_t nanoseconds = 0;  ///< of the adapter's clock
};

/// Brings a machine up, connects, measures, and takes everything back.
connecting_result connect_queue_pairs(const connecting_options& how);

}  // namespace freehca::bench

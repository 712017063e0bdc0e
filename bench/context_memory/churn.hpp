// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>

#include <freehca/hal/status.hpp>

namespace freehca::bench {

/// Queue pairs come and go in random order, and context memory with them.
struct churn_options {
  unsigned queue_pairs = 100'000;  ///< made in all
  unsigned alive = 16'384;         ///< at most, at a time
  bool memory_fails = false;       ///< pages to lend are short now and then
  std::uint64_t seed = 1;
};

struct churn_result {
  status outcome;  ///< of the driver; what it was refused for want of memory is counted, no failure
  std::string wrong;  ///< what was not as it has to be; empty: nothing
  unsigned made = 0, refused = 0, most_alive = 0, samples = 0;
  /// Bytes, of all tables: before the first, when the most were alive, after the last.
  std::uint64_t lent_before = 0, lent_at_peak = 0, lent_after = 0;
  std::uint64_t occupied_at_peak =
      0;                            ///< by the entries of those that were alive, beyond lent_before
  std::uint32_t most_unneeded = 0;  ///< blocks that were lent at a sample and held nothing
  std::uint32_t unneeded_bound = 0;  ///< budget::spare_context_blocks
};

churn_result churn(const churn_options& how);

}  // namespace freehca::bench

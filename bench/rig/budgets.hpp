// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bit>
#include <cstddef>

#include <freehca/hca/every_kind.hpp>

namespace freehca::bench {

/// For so many small queue pairs at a time.
inline budget budget_for(unsigned queue_pairs) {
  budget b;
  // The firmware keeps up to 1088 for itself, and numbers that were freed rest.
  b.log_qps = static_cast<unsigned>(std::bit_width(queue_pairs + 1088 + number_allocator::resting));
  b.context_bytes += std::size_t{queue_pairs} * 2048;
  b.queue_bytes += std::size_t{queue_pairs} * 8192;
  b.doorbell_bytes += std::size_t{queue_pairs} * 64;
  return b;
}

inline verbs_budget objects_for(unsigned queue_pairs) {
  verbs_budget b = every_kind().with<queue_pair>(queue_pairs);
  b.requests += queue_pairs * 160;
  return b;
}

}  // namespace freehca::bench

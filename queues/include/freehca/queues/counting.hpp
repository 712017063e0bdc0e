// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/cq.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

/// Counts the completions of a completion queue, and keeps only the first failed one. Used by the
/// thread of the queue's owner.
struct counting {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  work_completion first_failure{};              ///< valid if failed != 0
  std::uint64_t threshold = ~std::uint64_t{0};  ///< successes; see reached()

  /// Counts at most `most` completions, and then releases their entries to the device. Returns the
  /// number of completions.
  unsigned drain(cq& from, unsigned most) {
    const unsigned taken = from.look(most, [this](const completion_view& each) {
      if (each.ok()) [[likely]]
        ++succeeded;
      else if (failed++ == 0) first_failure = copy_of(each);
    });
    if (taken != 0) from.release();
    return taken;
  }

  /// True if a request has failed, or if `threshold` requests have succeeded.
  bool reached() const { return failed != 0 || succeeded >= threshold; }
};

}  // namespace freehca::queues

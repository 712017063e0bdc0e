// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/cq.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

/// For whoever wants to know of a completion queue only how many requests have ended, and whether
/// one failed: keeps no completion but the first failure.
struct counting {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  work_completion first_failure{};              ///< with failed != 0
  std::uint64_t threshold = ~std::uint64_t{0};  ///< see reached()

  /// Takes at most `most` completions and tells the device of them at the end. Returns how many
  /// there were.
  unsigned drain(cq& from, unsigned most) {
    const unsigned taken = from.look(most, [this](const completion_view& each) {
      if (each.ok()) [[likely]]
        ++succeeded;
      else if (failed++ == 0) first_failure = copy_of(each);
    });
    if (taken != 0) from.release();
    return taken;
  }

  /// Is there something to tell: a failure, or `threshold` successes?
  bool reached() const { return failed != 0 || succeeded >= threshold; }
};

}  // namespace freehca::queues

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::testing {

/// Makes operator new of this program fail in this thread, from the construction to the destruction
/// of this object: `good` allocations succeed, and then one fails, or all, or one and all that are
/// of the size of a memory_reserve.
class failing_allocations {
 public:
  enum class how { once, always, once_and_the_reserve };
  failing_allocations(std::size_t good, how kind);
  ~failing_allocations();
  failing_allocations(const failing_allocations&) = delete;
  failing_allocations& operator=(const failing_allocations&) = delete;

  /// Whether an allocation has failed so far.
  static bool has_failed();

  /// From now on an allocation of exactly so many bytes ends the process by SIGKILL.
  static void end_process_at(std::size_t bytes);
};

}  // namespace freehca::testing

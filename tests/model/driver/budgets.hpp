// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/budget.hpp>

namespace freehca::testing {

/// Context memory comes back at once, so that counts before and after are equal.
inline freehca::budget without_spares() {
  freehca::budget b;
  b.spare_context_blocks = 0;
  return b;
}

}  // namespace freehca::testing

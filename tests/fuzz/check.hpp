// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdio>

namespace freehca::fuzz {

/// Traps unless the condition holds, and says what was found.
inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  __builtin_trap();
}

}  // namespace freehca::fuzz

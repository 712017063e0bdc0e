// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdio>

#include <freehca/hal/status.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::fuzz {

/// Says what was found, and traps.
[[noreturn]] inline void found(const char* what, status s = {}) {
  char text[160];
  describe(s, text, sizeof text);
  std::fprintf(stderr, "finding: %s (%s)\n", what, s.ok() ? "-" : text);
  __builtin_trap();
}

}  // namespace freehca::fuzz

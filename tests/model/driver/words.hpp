// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hal/text.hpp>

namespace freehca::testing {

/// What an outcome says, with the names of steps and commands.
inline std::string words(status s) {
  char text[160];
  describe(s, text, sizeof text);
  return text;
}

}  // namespace freehca::testing

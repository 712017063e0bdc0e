// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hal/text.hpp>

namespace freehca::blocking {

/// A status in words, with the names of steps, commands and budgets.
inline std::string words(status s) {
  char text[160];
  describe(s, text, sizeof text);
  return text;
}

}  // namespace freehca::blocking

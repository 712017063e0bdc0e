// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/texts/names.hpp>
#include <freehca/texts/text.hpp>

namespace freehca::testing {

/// What an outcome says, with the names of steps and commands.
inline std::string words(status s) {
  char text[160];
  describe(s, text, sizeof text);
  return text;
}

}  // namespace freehca::testing

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "report.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace freehca::switch_program {

void report(std::string_view what) {
  fmt::print(stderr, "freehca-switch: {}\n", what);
}

}  // namespace freehca::switch_program

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string_view>

namespace freehca::switch_program {

/// A line on stderr.
void report(std::string_view what);

}  // namespace freehca::switch_program

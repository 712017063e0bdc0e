// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "input.hpp"

namespace freehca::fuzz {

/// Does what one input says, and traps when something is found. For fuzzers that keep no machine
/// (run.hpp). Each fuzzer has a function of its own.
void try_input(input from);

}  // namespace freehca::fuzz

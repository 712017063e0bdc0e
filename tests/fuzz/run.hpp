// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::fuzz {

/// One run of a target (driver_run.cpp, model_run.cpp) on one input. Traps when something is found, and says what.
void run(const std::uint8_t* data, std::size_t bytes);

}  // namespace freehca::fuzz

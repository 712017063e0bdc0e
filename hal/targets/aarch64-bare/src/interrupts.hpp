// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include "board.hpp"

namespace freehca::bare {

/// Switches the interrupt controller on. `tables`: see start_gicv3().
void start_interrupts(const gic_registers& in, std::byte* tables) noexcept;

/// From now on an exception is what the instruction that asks a debugger to end the machine becomes
/// where there is no debugger; it goes on in machine::stop().
void expect_no_debugger(void (*go_on)() noexcept) noexcept;

}  // namespace freehca::bare

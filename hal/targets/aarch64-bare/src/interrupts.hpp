// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/device_tree/tree.hpp>

namespace freehca::bare {

/// Finds the interrupt controller and switches it on. `tables`: see start_gicv3().
void start_interrupts(const device_tree::tree& in, std::byte* tables) noexcept;

/// From now on an exception is what the instruction that asks a debugger to end the machine becomes
/// where there is no debugger; it goes on in machine::stop().
void expect_no_debugger(void (*go_on)() noexcept) noexcept;

}  // namespace freehca::bare

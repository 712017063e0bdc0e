// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/device_tree/tree.hpp>

namespace freehca::bare {

/// Finds a GICv2 with a frame for messages and switches it on; without one there are no messages,
/// and machine::messages_text() says why.
void start_interrupts(const device_tree::tree& in) noexcept;

/// From now on an exception is what the instruction that asks a debugger to end the machine becomes
/// where there is no debugger; it goes on in machine::stop().
void expect_no_debugger(void (*go_on)() noexcept) noexcept;

}  // namespace freehca::bare

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/device_tree/tree.hpp>

namespace freehca::bare {

/// Finds the machine-level interrupt file of this hart and switches it on; without one there are no
/// messages, and machine::messages_text() says so.
void start_interrupts(const device_tree::tree& in, std::uint64_t hart) noexcept;

}  // namespace freehca::bare

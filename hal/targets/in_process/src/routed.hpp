// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::in_process {

class machine;

/// Tells the routed accessors that the addresses of a BAR belong to a machine. Throws
/// std::length_error if there are more than 256 BARs in the process.
void route(const std::byte* base, std::size_t bytes, machine& to, unsigned bar);
/// Removes all BARs of a machine.
void unroute(const machine& of);

}  // namespace freehca::in_process

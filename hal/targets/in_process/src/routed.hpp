// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::in_process {

class machine;

/// Tells the routed accessors which machine a BAR's addresses belong to.
void route(const std::byte* base, std::size_t bytes, machine& to, unsigned bar);
void unroute(const machine& of);

}  // namespace freehca::in_process

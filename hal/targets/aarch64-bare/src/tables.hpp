// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::bare {

/// Makes memory reachable, with caches, for data. Whole blocks of 2 MiB: what else lies in them is
/// reachable too. False: the tables are used up, or devices lie there.
bool map_memory(std::uint64_t address, std::uint64_t bytes) noexcept;

}  // namespace freehca::bare

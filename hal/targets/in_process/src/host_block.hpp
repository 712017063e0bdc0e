// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::in_process::host_block {

/// Zeroed memory at a multiple of `alignment`, which is a power of two and at least 4096. Throws
/// std::bad_alloc. The fuzzers have definitions of their own, which allocate from the memory that
/// they restore after each input (tests/fuzz/host_block.cpp).
std::byte* allocate(std::size_t bytes, std::size_t alignment);
void free(std::byte* block);

}  // namespace freehca::in_process::host_block

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::bare {

/// What the driver cuts its structures to (docs/incoherent-dma.md).
inline constexpr std::size_t cache_line = 64;

/// Have all data caches lines of so many bytes, as far as CTR_EL0 says?
bool has_lines_of(std::size_t bytes) noexcept;

}  // namespace freehca::bare

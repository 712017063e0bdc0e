// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/hal/dma.hpp>
#include <freehca/layouts/hcr.hpp>

namespace freehca::mailbox {

/// The size and the alignment of a mailbox. Each slot of the channel has an input mailbox and an
/// output mailbox. A mailbox is zeroed before each use. If the firmware reads beyond the end of a
/// layout, it therefore reads zeros.
inline constexpr std::size_t bytes = layouts::mailbox_bytes;

inline void clear(std::byte* box) {
  dma::clear(box, bytes);
}

}  // namespace freehca::mailbox

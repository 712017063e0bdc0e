// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/hal/dma.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::mailbox {

/// Every slot of the channel has an input and an output mailbox of this size and alignment, zeroed
/// before each use: firmware that reads further than a layout knows reads zeros.
inline constexpr std::size_t bytes = layouts::mailbox_bytes;

/// Zeroes a mailbox.
inline void clear(std::byte* box) {
  dma::clear(box, bytes);
}

/// Writes one structure at byte `offset` of an input mailbox.
template <class Layout>
inline void store(std::byte* box, const layouts::image<Layout>& from, std::size_t offset = 0) {
  static_assert(Layout::bytes <= bytes);
  FREEHCA_ASSERT(offset <= bytes - Layout::bytes);
  dma::store_bytes(box + offset, from.data(), Layout::bytes);
}

/// Reads one structure from byte `offset` of an output mailbox.
template <class Layout>
inline void load(const std::byte* box, layouts::image<Layout>& to, std::size_t offset = 0) {
  static_assert(Layout::bytes <= bytes);
  FREEHCA_ASSERT(offset <= bytes - Layout::bytes);
  dma::load_bytes(to.data(), box + offset, Layout::bytes);
}

}  // namespace freehca::mailbox

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/hal/dma.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::mailbox {

/// The size and the alignment of a mailbox. Each slot of the channel has an input mailbox and an
/// output mailbox. A mailbox is zeroed before each use. If the firmware reads beyond the end of a
/// layout, it therefore reads zeros.
inline constexpr std::size_t bytes = layouts::mailbox_bytes;

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

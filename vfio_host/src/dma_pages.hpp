// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver's own memory, in pages of the wanted size.
#pragma once

#include <cstddef>
#include <string>

#include <freehca/vfio_host/open_options.hpp>

namespace freehca::vfio_host {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// A block has larger pages than 4096 bytes if it would fill half of one at least.
constexpr bool has_large_pages(memory_pages pages, std::size_t bytes) {
  return pages != memory_pages::small && bytes >= huge_page / 2;
}

/// The bytes of a block of `bytes` bytes, a multiple of its pages.
constexpr std::size_t whole_pages(memory_pages pages, std::size_t bytes) {
  const std::size_t page = has_large_pages(pages, bytes) ? huge_page : 4096;
  return (bytes + page - 1) / page * page;
}

/// Maps anonymous memory; `bytes` is that of whole_pages(). Large pages are aligned to their size.
/// Null: errno says why.
std::byte* map_pages(memory_pages pages, std::size_t bytes);

/// What the user can do if map_pages() fails with `error`. Empty: nothing.
std::string how_to_have_pages(memory_pages pages, std::size_t bytes, int error);

}  // namespace freehca::vfio_host

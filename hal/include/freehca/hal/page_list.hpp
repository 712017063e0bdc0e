// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/regions.hpp>

namespace freehca {

/// A buffer as the device sees it: `bytes` bytes in pages of one size at any addresses. The buffer
/// begins at `first_offset` in the first page. A page_list owns nothing. The caller owns the array
/// of addresses, which outlives the list.
class page_list {
 public:
  page_list() = default;

  /// Scattered pages: `addresses[i]` is the device address of page i, aligned to the page size.
  page_list(const std::uint64_t* addresses, unsigned log2_page_bytes, std::uint32_t first_offset,
            std::uint64_t bytes)
      : addresses_(addresses),
        bytes_(bytes),
        first_offset_(first_offset),
        log2_page_bytes_(log2_page_bytes) {
    FREEHCA_ASSERT(first_offset >> log2_page_bytes == 0);
  }

  /// A contiguous region, divided into pages of the given size. The first and the last page may be
  /// used in part.
  page_list(const dma_region& region, unsigned log2_page_bytes)
      : bytes_(region.bytes),
        first_offset_(static_cast<std::uint32_t>(region.device_address &
                                                 ((std::uint64_t{1} << log2_page_bytes) - 1))),
        log2_page_bytes_(log2_page_bytes) {
    base_ = region.device_address - first_offset_;
  }

  std::uint64_t page(std::size_t i) const {
    FREEHCA_ASSERT(i < pages());
    return addresses_ != nullptr ? addresses_[i] : base_ + (std::uint64_t{i} << log2_page_bytes_);
  }
  std::size_t pages() const {
    return static_cast<std::size_t>(
        (first_offset_ + bytes_ + (std::uint64_t{1} << log2_page_bytes_) - 1) >> log2_page_bytes_);
  }
  /// True if the list was made of one region.
  bool is_contiguous() const { return addresses_ == nullptr; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t first_offset() const { return first_offset_; }
  unsigned log2_page_bytes() const { return log2_page_bytes_; }

 private:
  const std::uint64_t* addresses_ = nullptr;  // null: contiguous from base_ on
  std::uint64_t base_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t first_offset_ = 0;
  unsigned log2_page_bytes_ = 12;
};

}  // namespace freehca

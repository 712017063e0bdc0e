// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace freehca::vfio_host {

/// A range of I/O virtual addresses, both ends included, as the kernel reports them.
struct iova_range {
  std::uint64_t first = 0, last = 0;
};

/// Allocates I/O virtual addresses inside the ranges that the kernel allows, lowest fit first. It
/// never allocates address 0, so that a null device address is always an error.
class iova_allocator {
 public:
  static constexpr std::uint64_t page = 4096;

  explicit iova_allocator(const std::vector<iova_range>& allowed);

  /// Allocates `bytes` bytes (a multiple of page) at an address that is `offset` (a multiple of
  /// page, less than `alignment`) behind a multiple of `alignment` (a power of two, at least page).
  std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment,
                                    std::uint64_t offset = 0);
  /// Returns false if no range of that size was allocated at this address.
  bool give_back(std::uint64_t at, std::uint64_t bytes);
  std::uint64_t taken() const { return taken_bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;   // first to last
  std::map<std::uint64_t, std::uint64_t> taken_;  // first to bytes
  std::uint64_t taken_bytes_ = 0;
};

}  // namespace freehca::vfio_host

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/regions.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// Divides one large block of DMA memory into runs of units: pages (unit 4096) for queues and for
/// what is lent to the firmware, or cache lines (unit 64) for doorbell records. First fit, one bit
/// per unit, in storage that the caller hands over. One owner thread.
class dma_arena {
 public:
  static constexpr std::size_t page = 4096;

  /// Storage for a block of `bytes` bytes.
  static constexpr std::size_t storage_bytes_for(std::size_t bytes, std::size_t unit = page) {
    return (bytes / unit + 63) / 64 * sizeof(std::uint64_t);
  }

  dma_arena() = default;
  dma_arena(const dma_arena&) = delete;
  dma_arena& operator=(const dma_arena&) = delete;

  /// `unit` is a power of two; a rest of `block` smaller than a unit stays unused. `storage` is
  /// aligned to 8 and, like `block`, outlives the arena. `budget` is what an allocation that fails
  /// names in `where`. driver_error::bad_argument (too little storage, misaligned), ::bad_state
  /// (open already).
  status open(const dma_region& block, std::size_t unit, std::byte* storage,
              std::size_t storage_bytes, unsigned budget);
  bool is_open() const { return used_ != nullptr; }
  /// Forgets the block; everything must be free again.
  /// What was not freed is forgotten.
  void close();

  /// A run of at least `bytes` bytes, contiguous for the device; its device address is a multiple
  /// of `alignment` (a power of two). Its contents are what the last user left. The region given
  /// back has `bytes` rounded up to the unit. driver_error::no_memory with the budget;
  /// ::bad_argument.
  result<dma_region> allocate(std::size_t bytes, std::size_t alignment = 1);

  /// Takes back a whole run from allocate(), or an aligned part of one. The device must have let go
  /// of it.
  void free(const dma_region& run);

  /// Whether the unit at this device address is out; false outside the block.
  bool is_out(std::uint64_t device_address) const {
    const std::uint64_t offset = device_address - block_.device_address;
    return used_ != nullptr && device_address >= block_.device_address && offset / unit_ < units_ &&
           taken(static_cast<std::size_t>(offset / unit_));
  }

  std::size_t bytes_out() const { return units_out_ * unit_; }
  const dma_region& block() const { return block_; }

 private:
  bool taken(std::size_t unit) const { return (used_[unit / 64] >> unit % 64 & 1) != 0; }
  void mark(std::size_t first, std::size_t count, bool take);
  std::size_t next_free(std::size_t from) const;

  dma_region block_;
  std::uint64_t* used_ = nullptr;
  std::size_t unit_ = 0;
  std::size_t units_ = 0;
  std::size_t units_out_ = 0;
  std::size_t lowest_free_ = 0;  // no unit below is free
  unsigned budget_ = 0;
};

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/regions.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// Divides one large block of DMA memory into runs of units. The units are pages (4096 bytes) for
/// queues and context memory, or cache lines (64 bytes) for doorbell records. Allocation is first
/// fit, with one bit per unit in storage that the caller provides. One owner thread uses an arena.
class dma_arena {
 public:
  static constexpr std::size_t page = 4096;

  /// Returns the bytes of storage that a block of `bytes` bytes needs.
  static constexpr std::size_t storage_bytes_for(std::size_t bytes, std::size_t unit = page) {
    return (bytes / unit + 63) / 64 * sizeof(std::uint64_t);
  }

  dma_arena() = default;
  dma_arena(const dma_arena&) = delete;
  dma_arena& operator=(const dma_arena&) = delete;

  /// `unit` is a power of two. If the end of `block` is smaller than a unit, it stays unused.
  /// `storage` is aligned to 8. Both `storage` and `block` outlive the arena. A failed allocation
  /// has `budget` in `where`. Errors: driver_error::bad_argument (too little storage, misaligned),
  /// ::bad_state (the arena is open already).
  status open(const dma_region& block, std::size_t unit, std::byte* storage,
              std::size_t storage_bytes, unsigned budget);
  bool is_open() const { return used_ != nullptr; }
  /// Forgets the block and all runs of it. The caller must have freed every run. close() does not
  /// check this.
  void close();

  /// Allocates a run of at least `bytes` bytes, contiguous for the device. The device address of
  /// the run is a multiple of `alignment` (a power of two). The run has the contents that its last
  /// user left. `bytes` of the returned region is rounded up to the unit. Errors:
  /// driver_error::no_memory, ::bad_argument, ::bad_state (the arena is not open). Each has the
  /// budget in `where`.
  result<dma_region> allocate(std::size_t bytes, std::size_t alignment = 1) {
    return find(bytes, alignment, false);
  }

  /// Allocates a run like allocate(), at the begin or at the end of the first free range that is
  /// large enough. It takes the end if the address there is aligned to a larger power of two, so
  /// that the run needs fewer translation entries. No run leaves a gap beside it: as long as
  /// nothing is freed and all runs come from here, the free memory is one range.
  result<dma_region> allocate_ring(std::size_t bytes) { return find(bytes, 1, true); }

  /// Frees a whole run from allocate(), or a part of one that is aligned to the unit. The device
  /// must no longer use the run.
  void free(const dma_region& run);

  /// True if the unit at this device address is allocated. False outside the block.
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
  /// Returns the first unit from `from` on that is used, or that is free. units_ if there is none.
  std::size_t next(std::size_t from, bool used) const;
  result<dma_region> find(std::size_t bytes, std::size_t alignment, bool at_either_end);

  dma_region block_;
  std::uint64_t* used_ = nullptr;
  std::size_t unit_ = 0;
  std::size_t units_ = 0;
  std::size_t units_out_ = 0;
  std::size_t lowest_free_ = 0;  // no unit below is free
  unsigned budget_ = 0;
};

}  // namespace freehca

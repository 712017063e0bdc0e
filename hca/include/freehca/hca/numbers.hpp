// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>

namespace freehca {

/// Who knows of numbers that are free and cannot be used all the same: the first from `first` on
/// behind which `count` can.
struct number_filter {
  std::uint32_t (*first_usable)(const void* context, std::uint32_t first, std::uint32_t count);
  const void* context;
};

/// Gives out object numbers, or aligned runs of them: the lowest that are free, so that the objects
/// in use share few pages of context memory. One bit per unit, in storage that the caller hands
/// over. What is freed rests until `resting` more were freed, so that late events of the old owner
/// find nobody; a search that finds nothing else ends the rest. Numbers in doubt simply stay out.
///
/// The time of one call is bounded by the size of the table: allocate() makes at most two passes
/// over the units, the second after it has ended the rest, and a pass looks at no unit twice. One
/// look takes in all equal neighbours in a word of 64 units.
class number_allocator {
 public:
  static constexpr unsigned resting = 32;

  static constexpr std::size_t storage_bytes_for(std::size_t units) {
    return (units + 63) / 64 * sizeof(std::uint64_t);
  }

  number_allocator() = default;
  number_allocator(const number_allocator&) = delete;
  number_allocator& operator=(const number_allocator&) = delete;

  /// Numbers [first, end) in units of 2^log_unit; `storage` is for units [0, end). `first` is
  /// rounded up to a unit.
  void open(std::byte* storage, std::uint32_t first, std::uint32_t end, unsigned log_unit,
            budget::item what);
  void close() {
    used_ = nullptr;
    first_ = end_ = out_ = 0;
    rests_ = 0;
  }

  /// `count` numbers in a row, the first a multiple of `alignment` (a power of two) and of the
  /// unit. driver_error::no_resource with the budget::item.
  result<std::uint32_t> allocate(std::uint32_t count = 1, std::uint32_t alignment = 1,
                                 const number_filter* filter = nullptr);
  /// Takes back what one allocate() of `count` gave.
  void free(std::uint32_t first, std::uint32_t count = 1);

  std::uint32_t first() const { return first_ << log_unit_; }
  std::uint32_t out() const { return out_ << log_unit_; }  ///< numbers that are not free
  std::uint64_t looks() const { return looks_; }  ///< at words, of all searches since open()

 private:
  struct run {
    std::uint32_t first, units;
  };
  std::uint32_t first_taken(std::uint32_t unit, std::uint32_t end);
  std::uint32_t first_free(std::uint32_t unit);
  std::uint32_t search(std::uint32_t units, std::uint32_t step, const number_filter* filter);
  void mark(const run& r, bool take);
  void end_rest(const run& r);

  std::uint64_t* used_ = nullptr;
  std::uint32_t first_ = 0, end_ = 0;  // units
  std::uint32_t lowest_ = 0;           // none below is free
  std::uint32_t out_ = 0;
  run resting_[resting] = {};  // freed, and still marked; the oldest at rests_ % resting
  std::uint32_t rests_ = 0;    // in all
  std::uint64_t looks_ = 0;
  unsigned log_unit_ = 0;
  budget::item what_ = budget::item::storage;
};

/// Keys of memory regions. The low byte of a key is another one at each use of its index, until the
/// device is closed: the key of the region before does not open the one of today, whatever was
/// opened, reset or brought up anew between them. After 256 uses of an index keys come again.
class memory_keys {
 public:
  /// A byte for each index; `indexes` is a power of two.
  void open(std::byte* storage, std::uint32_t indexes);
  /// The next key of an index. Never the invalid L_Key, which ends a scatter list, nor
  /// `reserved_lkey`, which opens all of memory.
  std::uint32_t next(std::uint32_t index, std::uint32_t reserved_lkey);
  /// The key behind `key`, for who counts by himself; what he had used at the end is told to
  /// used_up_to().
  static std::uint32_t following(std::uint32_t key, std::uint32_t reserved_lkey);
  void used_up_to(std::uint32_t key);

 private:
  std::uint8_t* used_ = nullptr;
  std::uint32_t mask_ = 0;
};

/// All number spaces of a device. EQ numbers and UAR pages are the device's own business.
struct number_spaces {
  number_allocator qps, srqs, cqs, eqs, mpts, pds;
  /// Translation entries, in units of 8: one cache line of 64 bytes (Linux 6.1 log_mtts_per_seg).
  number_allocator mtts;
  static constexpr unsigned log_mtt_unit = 3;
  memory_keys keys;  ///< open as long as the device, the others as long as it is up
};

}  // namespace freehca

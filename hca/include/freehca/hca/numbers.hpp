// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>

namespace freehca {

/// Allocates object numbers, or aligned runs of them. It takes the lowest that are free, so that
/// the objects in use share few pages of context memory. The caller provides the storage, with one
/// bit per unit. A freed run rests until `resting` more runs were freed, so that late events of the
/// old object find no new object. If a search finds no other free run, it ends the rest of all
/// resting runs. Numbers in doubt stay allocated.
///
/// The time of one call is bounded by the size of the table. allocate() makes at most two passes
/// over the units, the second after it has ended the rest. A pass looks at no unit twice. One look
/// covers all equal neighbours in a word of 64 units. With `first_usable`, the search starts again
/// behind each run that cannot be used.
class number_allocator {
 public:
  static constexpr unsigned resting = 32;

  static constexpr std::size_t storage_bytes_for(std::size_t units) {
    return (units + 63) / 64 * sizeof(std::uint64_t);
  }

  number_allocator() = default;
  number_allocator(const number_allocator&) = delete;
  number_allocator& operator=(const number_allocator&) = delete;

  /// Opens the allocator for numbers [first, end), in units of 2^log_unit. `storage` is for units
  /// [0, end). `first` is rounded up to a unit.
  void open(std::byte* storage, std::uint32_t first, std::uint32_t end, unsigned log_unit,
            budget::item what);
  /// Called after open() with a unit of 1, if the allocator is to know the owners of its numbers.
  /// The storage has one more byte for each number then.
  void keep_owners();
  void close() {
    used_ = nullptr;
    owners_ = nullptr;
    first_ = end_ = out_ = 0;
    rests_ = 0;
  }

  /// Allocates `count` consecutive numbers. The first is a multiple of `alignment` (a power of two)
  /// and of the unit. Errors: driver_error::no_resource with the budget::item in `where`.
  result<std::uint32_t> allocate(std::uint32_t count = 1, std::uint32_t alignment = 1);
  /// The same without free numbers that cannot be used. first_usable(first, count) returns the
  /// first number, from `first` on, such that `count` numbers from there on can be used.
  template <class F>
  result<std::uint32_t> allocate(std::uint32_t count, std::uint32_t alignment, F first_usable) {
    for (std::uint32_t from = 0;;) {
      const result<std::uint32_t> found = find(count, alignment, from);
      if (!found.ok()) return found;
      from = first_usable(found.value(), count);
      if (from != found.value()) continue;
      take(from, count);
      return found;
    }
  }
  /// Frees the numbers of one allocate() of `count` numbers. A `count` of 0 frees no number.
  void free(std::uint32_t first, std::uint32_t count = 1);

  /// Sets the owner of allocated numbers, until the numbers are freed. No effect if the allocator
  /// does not know owners.
  void set_owner(std::uint32_t first, std::uint32_t count, std::uint8_t owner);
  /// Returns 0 if set_owner() was not called for the number.
  std::uint8_t owner_of(std::uint32_t number) const {
    return owners_ != nullptr && number < end_ ? owners_[number] : std::uint8_t{0};
  }
  /// Returns the first of `first`, `first` + `count` ... such that `owner` has no number that
  /// equals one of the `count` numbers from there on modulo `places`, a power of two. If there is
  /// none, returns a number behind the last one.
  std::uint32_t first_unlike(std::uint8_t owner, std::uint32_t first, std::uint32_t count,
                             std::uint32_t places) const;

  std::uint32_t first() const { return first_ << log_unit_; }
  /// The number of allocated numbers, without the resting ones.
  std::uint32_t out() const { return out_ << log_unit_; }
  /// The number of looks at words in all searches since open().
  std::uint64_t looks() const { return looks_; }

 private:
  struct run {
    std::uint32_t first, units;
  };
  std::uint32_t first_taken(std::uint32_t unit, std::uint32_t end);
  std::uint32_t first_free(std::uint32_t unit);
  std::uint32_t units_of(std::uint32_t count) const {
    return (count + (std::uint32_t{1} << log_unit_) - 1) >> log_unit_;
  }
  std::uint32_t search(std::uint32_t from, std::uint32_t units, std::uint32_t step);
  /// Returns the lowest free run from the number `from` on. If there is none, ends the rest of all
  /// runs and searches from the first number.
  result<std::uint32_t> find(std::uint32_t count, std::uint32_t alignment, std::uint32_t from);
  void take(std::uint32_t first, std::uint32_t count);
  void mark(const run& r, bool take);
  void end_rest(const run& r);
  bool end_rests();  ///< false if no run was resting

  std::uint64_t* used_ = nullptr;
  std::uint8_t* owners_ = nullptr;
  std::uint32_t first_ = 0, end_ = 0;  // units
  std::uint32_t lowest_ = 0;           // no unit below is free
  std::uint32_t out_ = 0;
  run resting_[resting] = {};  // freed, but still marked; the oldest is at rests_ % resting
  std::uint32_t rests_ = 0;    // number of runs freed since open()
  std::uint64_t looks_ = 0;
  unsigned log_unit_ = 0;
  budget::item what_ = budget::item::storage;
};

/// The keys of memory regions. Each use of an index gets a key with another low byte, until the
/// device is closed. The key of an earlier region therefore does not give access to the current
/// region of the same index, even if the device was reset or brought up between them. After at most
/// 256 uses of an index, its keys repeat.
class memory_keys {
 public:
  /// `storage` has one byte for each index. `indexes` is a power of two.
  void open(std::byte* storage, std::uint32_t indexes);
  /// Returns the next key of an index. It is never the invalid L_Key, which ends a scatter list,
  /// and never `reserved_lkey`, which gives access to all of memory.
  std::uint32_t next(std::uint32_t index, std::uint32_t reserved_lkey);
  /// Returns the key that follows `key`, for a caller that counts the keys of an index itself. At
  /// the end this caller passes its last key to used_up_to().
  static std::uint32_t following(std::uint32_t key, std::uint32_t reserved_lkey);
  void used_up_to(std::uint32_t key);

 private:
  std::uint8_t* used_ = nullptr;
  std::uint32_t mask_ = 0;
};

/// All number spaces of a device. UAR pages are not here: see uar_pages. Neither are the numbers of
/// the device's own event queues and of their translation entries, which follow those that the
/// firmware keeps.
struct number_spaces {
  number_allocator qps, srqs, cqs, eqs, mpts, pds;
  /// Translation entries, in units of 8: one cache line of 64 bytes (Linux 6.1 log_mtts_per_seg).
  number_allocator mtts;
  static constexpr unsigned log_mtt_unit = 3;
  /// Returns the translation entry of the ring of the device's event queue `i`. Each ring has a
  /// unit. The units follow the `reserved` entries that the firmware keeps.
  static constexpr std::uint32_t event_ring_mtt(std::uint32_t reserved, std::uint32_t i) {
    return (((reserved + (1u << log_mtt_unit) - 1) >> log_mtt_unit) + i) << log_mtt_unit;
  }
  memory_keys keys;  ///< open as long as the device is open; the others as long as it is up
};

}  // namespace freehca

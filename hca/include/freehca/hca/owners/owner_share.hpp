// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/device_control.hpp>
#include <freehca/hca/device_plan.hpp>
#include <freehca/hca/numbers.hpp>
#include <freehca/hca/objects/verbs_budget.hpp>
#include <freehca/hca/uar.hpp>

namespace freehca {

/// What an event context takes of the device for itself, besides one number for each object of its
/// verbs_budget. Nobody else can use it up, and it uses up nobody else's.
struct share_budget {
  /// Pages that its regions and rings have, each rounded up to 8.
  std::uint32_t translations = 4096;
  std::size_t queue_bytes = std::size_t{1} << 20;     ///< of rings: whole pages
  std::size_t doorbell_bytes = std::size_t{2} << 10;  ///< of doorbell records, a cache line each
};

/// Numbers, memory and a page of doorbells that were cut off from the device's for one owner, so
/// that it makes objects without asking anybody. The control owner cuts and takes back; in between
/// everything is the other owner's.
class owner_share {
 public:
  static constexpr unsigned spaces = 6;
  /// For a device made from `d`.
  static constexpr std::size_t storage_bytes(const budget& d, const share_budget& s);

  /// What there is to cut; nothing is cut yet. `storage` is aligned to 16.
  void open(const budget& d, const verbs_budget& objects, const share_budget& s,
            std::byte* storage);

  // The control owner's thread.

  /// Rings and doorbell records: as long as the device is open. driver_error::no_memory with the
  /// device's budget::item.
  status take_memory(device_control& from);
  void give_memory_back(device_control& to);
  /// Numbers and a UAR page: as long as the device is up. driver_error::no_resource with the
  /// device's budget::item; nothing is kept then.
  status take_numbers(device_control& from);
  void give_numbers_back(device_control& to);
  /// Of the number spaces that events name: whether the number is this owner's.
  bool has(number_allocator number_spaces::*space, std::uint32_t number) const;

  // The owner's thread.

  /// All numbers that were taken are free.
  void begin();
  number_spaces numbers;
  dma_arena arena, doorbells;
  uar_page uar;

 private:
  struct range {
    number_allocator number_spaces::*space;
    budget::item what;
    unsigned log_unit;
    std::uint32_t first, count;
    std::byte* storage;
  };
  share_budget size_;
  range ranges_[spaces] = {};
  dma_region queue_memory_, doorbell_memory_;
  std::byte* arena_storage_ = nullptr;
  std::byte* doorbell_storage_ = nullptr;
};

namespace detail {
constexpr std::size_t bitmap_bytes(unsigned log_numbers) {
  return (number_allocator::storage_bytes_for(std::size_t{1} << log_numbers) + 15) / 16 * 16;
}
constexpr std::size_t arena_bitmap_bytes(std::size_t bytes, std::size_t unit) {
  return (dma_arena::storage_bytes_for(bytes, unit) + 15) / 16 * 16;
}
}  // namespace detail

constexpr std::size_t owner_share::storage_bytes(const budget& d, const share_budget& s) {
  std::size_t bytes = detail::arena_bitmap_bytes(s.queue_bytes, dma_arena::page) +
                      detail::arena_bitmap_bytes(s.doorbell_bytes, 64);
  for (const unsigned log : {d.log_qps, d.log_srqs, d.log_cqs, d.log_mpts,
                             d.log_mtts - number_spaces::log_mtt_unit, device_plan::log_pds})
    bytes += detail::bitmap_bytes(log);
  return bytes;
}

}  // namespace freehca

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

/// The resources that an event owner takes from the device, besides one number for each object of
/// its verbs_budget. No other owner can use up these resources, and the event owner cannot use up
/// the resources of others.
struct share_budget {
  /// Translation entries for the pages of regions and rings. The number for each region or ring is
  /// rounded up to a multiple of 8.
  std::uint32_t translations = 4096;
  std::size_t queue_bytes = std::size_t{1} << 20;  ///< memory for rings, in whole pages
  /// Memory for doorbell records. Each of them takes a cache line.
  std::size_t doorbell_bytes = std::size_t{2} << 10;
};

/// The share of one owner: numbers, memory and a doorbell page (UAR) of the device. With it, the
/// owner takes resources for objects without a request to another owner. The control owner takes
/// the share from the device and gives it back. In between, only the other owner uses the share.
class owner_share {
 public:
  static constexpr unsigned spaces = 6;
  /// The size of the storage for a device that is opened with `d`.
  static constexpr std::size_t storage_bytes(const budget& d, const share_budget& s);

  /// Sets the size of the share. Takes nothing from the device yet. `storage` is aligned to 16.
  void open(const budget& d, const verbs_budget& objects, const share_budget& s,
            std::byte* storage);

  // Called on the control owner's thread.

  /// Takes memory for rings and doorbell records. It is valid as long as the device is open. Error:
  /// driver_error::no_memory (`where` is the budget::item of the device).
  status take_memory(device_control& from);
  void give_memory_back(device_control& to);
  /// Takes numbers and a UAR page. They are valid as long as the device is up. Error:
  /// driver_error::no_resource (`where` is the budget::item of the device). After an error, nothing
  /// is taken.
  status take_numbers(device_control& from);
  void give_numbers_back(device_control& to);
  /// True if the number belongs to this share. `space` is a number space that events name.
  bool has(number_allocator number_spaces::*space, std::uint32_t number) const;

  // Used on the owner's own thread.

  /// Makes all numbers of the share free.
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

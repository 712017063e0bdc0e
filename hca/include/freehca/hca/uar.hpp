// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/register_map.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/numbers.hpp>

namespace freehca {

/// A UAR page with doorbells, and its BlueFlame page if the device has BlueFlame.
struct uar_page {
  std::uint32_t index = 0;  ///< the number in QP and CQ contexts
  mmio_region doorbells;    ///< layouts::uar::send_doorbell, ::cq_doorbell
  mmio_region blueflame;    ///< no bytes: there is no BlueFlame page

  /// Returns BlueFlame register number `i`, of 2^log_bytes bytes
  /// (capabilities::log_blueflame_bytes), for queues::blueflame. Each thread that posts needs its
  /// own. The region has no bytes if there is no such register.
  mmio_region blueflame_register(unsigned i, unsigned log_bytes) const {
    const std::size_t each = std::size_t{1} << log_bytes;
    return i < blueflame.bytes >> log_bytes ? blueflame.part(i * each, each) : mmio_region{};
  }
};

/// Allocates the UAR pages of BAR 2. It never allocates pages that belong to EQ doorbells or to the
/// firmware.
class uar_pages {
 public:
  static constexpr unsigned most_pages = 1024;
  static constexpr std::size_t storage_bytes() {
    return number_allocator::storage_bytes_for(most_pages);
  }

  /// `bar` is the whole BAR 2. `log_uar_mb` (QUERY_DEV_CAP uar_sz) is log2 of the size of the UAR
  /// pages in MB.
  void open(const mmio_region& bar, unsigned log_uar_mb, unsigned reserved, bool blueflame,
            std::byte* storage);
  void close() { numbers_.close(); }

  /// Errors: driver_error::no_resource (budget::item::uars).
  result<uar_page> allocate();
  void free(const uar_page& page) { numbers_.free(page.index); }
  std::uint32_t out() const { return numbers_.out(); }

  /// The doorbell word of an event queue.
  mmio_region eq_doorbell(std::uint32_t eqn) const {
    return bar_.part(layouts::uar::eq_doorbell_of(eqn), sizeof(std::uint32_t));
  }

 private:
  mmio_region bar_;
  unsigned log_uar_mb_ = 0;
  bool blueflame_ = false;
  number_allocator numbers_;
};

}  // namespace freehca

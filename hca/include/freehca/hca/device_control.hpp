// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/platform.hpp>
#include <freehca/hal/reactor.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/context_tables.hpp>
#include <freehca/hca/device_info.hpp>
#include <freehca/hca/numbers.hpp>
#include <freehca/hca/uar.hpp>

namespace freehca {

/// The command channel and the resources of a device: DMA memory, context memory, numbers, UAR
/// pages. The steps of bring-up open the parts one after the other.
class device_control {
 public:
  dma_arena arena;           ///< rings and buffers, unit 4096
  dma_arena doorbells;       ///< doorbell records, unit 64
  freehca::reactor reactor;  ///< the control owner's
  channel commands{reactor};
  dma_region areas;  ///< memory for the areas that are lent to the firmware as a whole
  /// The entries of one MAP_FA or MAP_ICM_AUX.
  layouts::image<layouts::map_entry>* area_entries = nullptr;
  context_layout layout{};
  context_tables contexts;
  number_spaces numbers;
  uar_pages uars;
  uar_page uar{};  ///< for the driver's own use

  /// Allocates the DMA memory and divides it. All arguments outlive this object.
  status open(const budget& b, const platform& p, std::byte* storage);
  void close();
  const dma_region& block() const { return block_; }  ///< all of the memory: see device_plan
  status open_commands(const mmio_region& hcr);
  status open_contexts(const capabilities& can);
  status open_numbers(const mmio_region& pages, const capabilities& can);
  void close_numbers();
  /// True if users have objects, if more than `objects_of_its_own` objects have context memory, or
  /// if commands are in doubt. An orderly teardown, step by step, is then not possible.
  bool held_by_users(std::uint64_t objects_of_its_own) const;
  device_holdings holdings() const;

 private:
  const budget* budget_ = nullptr;
  const platform* platform_ = nullptr;
  std::byte* storage_ = nullptr;
  dma_region block_;
};

}  // namespace freehca

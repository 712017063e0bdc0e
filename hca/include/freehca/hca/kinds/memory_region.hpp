// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/hal/regions.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>
#include <freehca/hca/objects/creation.hpp>

namespace freehca {

/// What a region may be used for, besides being read locally.
struct memory_access {
  bool local_write = false;
  bool remote_read = false;
  bool remote_write = false;   ///< needs local_write
  bool remote_atomic = false;  ///< needs local_write
};

/// Memory of the program, of any alignment.
struct program_memory {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

struct memory_region_attributes {
  pd_handle pd{};
  /// Pages of at least 4 KiB (capabilities::log_smallest_page), anywhere. The array of addresses is
  /// the caller's until completion. The memory stays until the region is destroyed.
  page_list pages{};
  /// How data entries count addresses: of the first byte, equal to the offset in the first page
  /// modulo the page size, as the device takes the offset from there.
  std::uint64_t virtual_address = 0;
  memory_access access{};
  /// Instead of `pages` and `virtual_address`: the region maps this memory for the device, picks
  /// the page size, and ends the mapping when it is destroyed. Data entries count addresses as the
  /// program does. The device's mapping is read-only without local_write. Regions may overlap.
  program_memory memory{};
};

/// Memory that the device may use: a run of addresses, and the key that opens it.
struct memory_region : device_object {
  using attributes = memory_region_attributes;
  using creating = commands::sw2hw_mpt;
  static constexpr kind_facts facts{.name = "memory region",
                                    .item = 0x43,
                                    .numbers = &number_spaces::mpts,
                                    .group = context_group::mpt,
                                    .destroying = taking_back<commands::hw2sw_mpt>};

  std::uint32_t key = 0;  ///< local and remote key are the same number
  dma_region mapped;      ///< whole pages of the program's memory; no bytes: none were mapped

  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);

 private:
  /// Maps the memory of the program, whose device addresses are `pages` then.
  status map(device& adapter, const attributes& a, page_list& pages);
};
static_assert(sizeof(void*) != 8 || sizeof(memory_region) == 296);

/// 0 for a stale handle.
inline std::uint32_t key_of(const verbs& in, mr_handle h) {
  const memory_region* const region = in.find(h);
  return region != nullptr ? region->key : 0;
}

/// Registers memory. Outcomes of a mapping are the platform's; driver_error::unsupported: it has no
/// map_memory().
using create_memory_region = create_object<memory_region>;
/// Takes a region back; its keys are dead once this is done and ok.
using destroy_memory_region = destroy_object<memory_region>;

}  // namespace freehca

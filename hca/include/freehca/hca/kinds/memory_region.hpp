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

/// The permitted accesses to a region. Local reads are always permitted.
struct memory_access {
  bool local_write = false;
  bool remote_read = false;
  bool remote_write = false;   ///< needs local_write
  bool remote_atomic = false;  ///< needs local_write
  bool bind_windows = false;   ///< memory windows may be bound to the region

  /// Refuses rights of peers that need local_write. Writes all others to the entry.
  status write_to(layouts::image<layouts::mpt>& entry, refused_attribute& note) const;
};

/// Memory of the program, of any alignment.
struct program_memory {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
};

struct memory_region_attributes {
  pd_handle pd{};
  /// Pages of at least 4 KiB, and at least 1 << capabilities::log_smallest_page bytes, at any
  /// addresses that are multiples of the page size. The caller keeps the array of addresses until
  /// completion. The memory must exist until the region is destroyed.
  page_list pages{};
  /// The address of the first byte in data entries. Modulo the page size, it is equal to the offset
  /// of the first byte in the first page, because the device takes the offset from this address.
  std::uint64_t virtual_address = 0;
  memory_access access{};
  /// True: data entries use `virtual_address` for the first byte of `memory`. It agrees with the
  /// address of the program modulo 4096. False: data entries use the addresses of the program if
  /// there is `memory`, and `virtual_address` is then 0.
  bool relocated = false;
  /// Replaces `pages`. The region maps this memory for the device, chooses the page size, and ends
  /// the mapping when it is destroyed. Without local_write, the mapping of the device is read-only
  /// if the platform has map_read_only_memory(). Regions may overlap.
  program_memory memory{};
};

/// Memory that the device may access: a range of addresses, and the key for it.
struct memory_region : device_object {
  using attributes = memory_region_attributes;
  using creating = commands::sw2hw_mpt;
  static constexpr kind_facts facts{.name = "memory region",
                                    .item = 0x43,
                                    .numbers = &number_spaces::mpts,
                                    .group = context_group::mpt,
                                    .destroying = taking_back<commands::hw2sw_mpt>};

  std::uint32_t key = 0;            ///< local key and remote key, which are the same number
  bool mapped_for_reading = false;  ///< the device may only read the mapped memory
  dma_region mapped;  ///< the mapped pages of the program's memory; 0 bytes: no memory is mapped
  /// Set by each operation that changes a region. Called when a late answer has settled the change.
  void (*settle)(memory_region& region, bool done) = nullptr;

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
  void settle_change(bool done) { settle(*this, done); }

 protected:
  /// Returns the entry of a region that the device owns next, without addresses.
  static layouts::image<layouts::mpt> blank_entry(const protection_domain& domain);

 private:
  /// Maps the memory of the program. Sets `pages` to its device addresses.
  status map(verbs& in, const attributes& a, page_list& pages);
};
static_assert(sizeof(void*) != 8 || sizeof(memory_region) == 232);

/// Returns 0 for a stale handle.
inline std::uint32_t key_of(const verbs& in, mr_handle h) {
  const memory_region* const region = in.find(h);
  return region != nullptr ? region->key : 0;
}

/// Registers memory. If the region maps memory of the program, the outcomes of the mapping are
/// those of the platform, or driver_error::unsupported (the platform has no map_memory() or no
/// unmap_memory()).
using create_memory_region = create_object<memory_region>;
/// Destroys a region. Its keys are invalid once the operation is done with the outcome ok.
using destroy_memory_region = destroy_object<memory_region>;

}  // namespace freehca

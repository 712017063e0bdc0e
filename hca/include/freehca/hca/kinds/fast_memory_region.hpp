// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/memory_region.hpp>

namespace freehca {

struct fast_memory_region_attributes {
  pd_handle pd{};
  std::uint32_t most_pages = 0;  ///< at most queues::most_registered_pages
};

/// A region that gives access to no memory until a queue pair of the same domain registers pages
/// with it (queues::fast_register). A registration needs no firmware command.
/// queues::local_invalidate, or queues::send_with_invalidate of the peer, ends the registration.
/// Error: driver_error::unsupported (the device has no fast registration).
///
/// The region can be used wherever a memory region is required. Its destruction ends a registration
/// too. Registrations are between the queue pairs and the device. The driver does not count them.
struct fast_memory_region : memory_region {
  using attributes = fast_memory_region_attributes;
  using stands_in_for = memory_region;
  static constexpr kind_facts facts = facts_like(memory_region::facts, "fast memory region", 0x49);

  /// Returns the key for the next registration. Only its low byte differs from the previous key. A
  /// peer that still has the previous key can then not access the memory (Linux 6.1
  /// ib_update_fast_reg_key). A key is used again after 256 registrations, or after fewer if the
  /// invalid or the reserved key was skipped. Called on the thread of the owner of the objects.
  std::uint32_t next_key();

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes&, creation<creating>& to) {
    return memory_region::build(in, {}, to);
  }
  /// Records the last key, before the control owner can give the number to another region.
  void suspend();
  void strip(verbs&) { key = 0; }
};
static_assert(sizeof(void*) != 8 || sizeof(fast_memory_region) == 232);

using create_fast_memory_region = create_object<fast_memory_region>;
using destroy_fast_memory_region = destroy_object<fast_memory_region>;

}  // namespace freehca

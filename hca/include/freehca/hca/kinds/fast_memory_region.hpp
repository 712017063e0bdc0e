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

/// A region that opens nothing until a queue pair of the same domain registers pages with it
/// (queues::fast_register), which no command does. queues::local_invalidate, or the peer's
/// queues::send_with_invalidate, makes it free again. driver_error::unsupported: the device has no
/// fast registration.
///
/// It stands in for a memory region wherever one is asked for. Destroying it ends a registration
/// too. Its registrations are between its queue pairs and the device: the driver does not count
/// them.
struct fast_memory_region : memory_region {
  using attributes = fast_memory_region_attributes;
  using stands_in_for = memory_region;
  static constexpr kind_facts facts = [] {
    kind_facts f = memory_region::facts;
    f.name = "fast memory region";
    f.item = 0x49;
    return f;
  }();

  /// The key for the next registration: the one before with another low byte, so that whoever
  /// still has that one finds nothing (Linux 6.1 ib_update_fast_reg_key). After 256 registrations
  /// a key comes again. By the thread of the owner of the objects.
  std::uint32_t next_key();

  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
};
static_assert(sizeof(void*) != 8 || sizeof(fast_memory_region) == 296);

using create_fast_memory_region = create_object<fast_memory_region>;
using destroy_fast_memory_region = destroy_object<fast_memory_region>;

}  // namespace freehca

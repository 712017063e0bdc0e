// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/kinds/memory_region.hpp>

namespace freehca {

struct dma_memory_region_attributes {
  pd_handle pd{};
  memory_access access{};
};

/// A region without translation, whose data entries have device addresses. Its key gives access to
/// all memory that the platform has mapped for the device, so `access` with rights of peers opens
/// all of that memory to every peer that knows the key. Other names: DMA MR (Linux ib_get_dma_mr),
/// physical region. It uses no translation entry.
///
/// The region can be used wherever a memory region is required. Its domain, its rights and its
/// memory cannot be changed.
struct dma_memory_region : memory_region {
  using attributes = dma_memory_region_attributes;
  using stands_in_for = memory_region;
  static constexpr kind_facts facts = facts_like(memory_region::facts, "DMA memory region", 0x66);

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes&, creation<creating>& to) {
    return memory_region::build(in, {}, to);
  }
  void strip(verbs&) {}
};

using create_dma_memory_region = create_object<dma_memory_region>;
using destroy_dma_memory_region = destroy_object<dma_memory_region>;

}  // namespace freehca

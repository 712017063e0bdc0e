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
/// all memory that the device can reach: behind an IOMMU, all that the platform has mapped for the
/// device, the driver's own memory among it, and without an IOMMU all memory of the machine. If
/// `access` has rights of peers, every peer that knows the key has them for all of that memory. In
/// Linux it is the DMA MR (6.1 mlx4_ib_get_dma_mr). It uses no translation entry.
///
/// The region can be used wherever a memory region is required. Its domain, its rights and its
/// memory cannot be changed.
struct dma_memory_region : memory_region {
  using attributes = dma_memory_region_attributes;
  using stands_in_for = memory_region;
  static constexpr kind_facts facts = facts_like(memory_region::facts, "DMA memory region", 0x66);

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes&, creation<creating>& to) {
    FREEHCA_TRY(memory_region::build(in, {}, to));
    to.command.input.set<&layouts::mpt::mtt_addr>(0);
    return {};
  }
  void strip(verbs&) {}
};

using create_dma_memory_region = create_object<dma_memory_region>;
using destroy_dma_memory_region = destroy_object<dma_memory_region>;

}  // namespace freehca

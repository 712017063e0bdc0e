// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/dma_memory_region.hpp>

namespace freehca {

using namespace layouts;

status dma_memory_region::plan(verbs& in, const attributes& a, creation<creating>& to) {
  protection_domain* const domain = in.find(a.pd);
  FREEHCA_TRY(verbs::usable(domain));
  image<mpt>& e = to.command.input = blank_entry(*domain);
  FREEHCA_TRY(a.access.write_to(e, in.refused()));
  use(*domain);
  // As in Linux (6.1 hw/mlx4/mr.c mlx4_ib_get_dma_mr): from address 0, the longest length, and the
  // page size of a region without translations (mlx4/mr.c mlx4_mtt_init).
  e.set<&mpt::physical>(true).set<&mpt::length>(~std::uint64_t{0}).set<&mpt::entity_size>(12);
  return {};
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lending memory to the device: MAP_FA, MAP_ICM, MAP_ICM_AUX.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// One entry of the input mailbox of MAP_FA, MAP_ICM and MAP_ICM_AUX; the input modifier is the
/// number of entries, at most map_entries_per_mailbox. Both addresses are aligned to the size of
/// the chunk.
/// Sources: Linux 6.1 fw.c mlx4_map_cmd, iPXE MT25408_PRM.h virtual_physical_mapping.
struct map_entry {
  static constexpr std::size_t bytes = 0x10;
  addr va {0x00, 63, 12, "va"};  ///< address in context memory; MAP_ICM only
  addr pa {0x08, 63, 12, "pa"};  ///< bus address
  /// log2 of the chunk size in units of 4 KB. Six bits by the PRM, five by illumos.
  bits log2size {0x0c,  5,  0, "log2size"};
};
static_assert(claimed<map_entry>().sound);
inline constexpr unsigned map_entries_per_mailbox = 4096 / map_entry::bytes;

/// The unit in which memory is lent. UNMAP_ICM takes the context memory address as immediate input
/// and the number of these pages as input modifier; UNMAP_FA and UNMAP_ICM_AUX take nothing.
/// SET_ICM_SIZE takes the size of context memory in bytes as immediate input and gives as immediate
/// output the auxiliary memory that MAP_ICM_AUX must lend, in these pages (Linux 6.1 fw.c, icm.c).
inline constexpr unsigned icm_page_shift = 12;
inline constexpr std::uint32_t icm_page_size = 1u << icm_page_shift;

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory translation table entries.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Sources: Linux 6.1 mr.c mlx4_write_mtt_chunk, MLX4_MTT_FLAG_PRESENT; iPXE MT25408_PRM.h mtt.
struct mtt {
  static constexpr std::size_t bytes = 8;
  /// bus address of the page; its low bits are zero up to the page size
  addr     ptag    {0x00, 63,  3, "ptag"};
  as<bool> present {0x04,  0,  0, "present"};
};
static_assert(claimed<mtt>().sound);

/// The head of WRITE_MTT's input mailbox; 8-byte mtt entries follow, their number is the input
/// modifier. Source: iPXE hermon.h write_mtt. To firmware the first word is the address of the
/// first entry relative to mtt_base; between a virtual function and its physical function Linux
/// puts an index there (mr.c).
struct write_mtt_header {
  static constexpr std::size_t bytes = 0x10;
  bits mtt_base_addr {0x00, 63,  0, "mtt_base_addr"};
};
static_assert(claimed<write_mtt_header>().sound);

}  // namespace freehca::layouts

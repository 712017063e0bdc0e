// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The output of QUERY_ADAPTER.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Sources: Linux 6.1 fw.c mlx4_QUERY_ADAPTER and get_board_id; illumos hermon_hw.h (vsd_vendor_id,
/// psid). Firmware swaps the bytes of every 32-bit word of the vendor specific data, so the board
/// identifier reads correctly only after each word of `psid` is swapped back.
struct query_adapter {
  static constexpr std::size_t bytes = 0x100;
  /// Which bit of the clear-interrupt register is ours.
  bits     inta_pin      {0x10, 31, 24, "inta_pin"};
  bits     vsd_vendor_id {0x1c, 15,  0, "vsd_vendor_id"};
  raw<208> vsd           {0x20, "vsd"};  ///< vendor specific data
  raw<16>  psid          {0xf0, "psid"};  ///< board identifier, see above
};
static_assert(query_adapter{}.psid.offset == 0xf0 && claimed<query_adapter>().sound);

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// SET_VLAN_FLTR and SET_MCAST_FLTR: what an Ethernet port lets in before it steers. The input
// modifier of both is the port.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// SET_VLAN_FLTR's mailbox: 128 of these words, the one of the highest VLANs first (Linux 6.1
/// mlx4/en_port.c mlx4_SET_VLAN_FLTR).
struct vlan_filter_word {
  static constexpr std::size_t bytes = 4;
  bits vlans {0x00, 31,  0, "vlans"};  ///< bit n: the VLAN 32 w + n
};
static_assert(claimed<vlan_filter_word>().sound);
inline constexpr unsigned vlan_filter_words = 128;

/// Where a VLAN's bit stands in the mailbox.
struct vlan_filter_place {
  unsigned word;  ///< which vlan_filter_word
  unsigned bit;
};
constexpr vlan_filter_place vlan_filter_place_of(unsigned vid) {
  return {vlan_filter_words - 1 - vid / 32, vid % 32};
}
static_assert(vlan_filter_place_of(0).word == 127 && vlan_filter_place_of(4095).word == 0);

/// SET_MCAST_FLTR's immediate input with set_mcast_fltr_modifier::config: an address to let in
/// (Linux 6.1 mlx4/port.c mlx4_SET_MCAST_FLTR).
struct multicast_filter {
  static constexpr std::size_t bytes = 8;
  as<bool> clear {0x00, 63, 63, "clear"};  ///< take all addresses out before
  bits     mac   {0x00, 47,  0, "mac"};    ///< 0: none
};
static_assert(claimed<multicast_filter>().sound);

}  // namespace freehca::layouts

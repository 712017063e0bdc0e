// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Multicast group entries.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class mcg_protocol : std::uint8_t { ib_ipv6 = 0, ethernet = 1, ib_ipv4 = 2, fcoe = 3 };

/// The head of an entry, in READ_MCG, WRITE_MCG and in context memory; mcg_member words follow.
/// Sources: Linux 6.1 mlx4.h struct mlx4_mgm, mcg.c; iPXE MT25408_PRM.h mcg_hdr.
struct mcg_header {
  static constexpr std::size_t bytes = 0x20;
  /// index of the next entry with this hash; 0 ends the chain
  bits             next_gid_index {0x00, 31,  6, "next_gid_index"};
  as<mcg_protocol> protocol       {0x04, 31, 30, "protocol"};
  /// GET_OP_REQ: remove, else add.
  as<bool>         member_remove  {0x04, 24, 24, "member_remove"};
  bits             members_count  {0x04, 23,  0, "members_count"};  ///< 0: the entry is empty
  /// MGID; for Ethernet an mcg_ethernet_gid.
  raw<16>          gid            {0x10, "gid"};
};
static_assert(claimed<mcg_header>().sound);

/// The mailbox of MGID_HASH. Source: Linux 6.1 mcg.c find_entry, mlx4_GID_HASH.
struct mcg_gid {
  static constexpr std::size_t bytes = 0x10;
  raw<16> gid {0x00, "gid"};
};
static_assert(claimed<mcg_gid>().sound);

/// Which of a port's two tables an Ethernet address stands in (Linux 6.1 device.h mlx4_steer_type).
enum class mcg_steering : std::uint8_t { multicast = 0, unicast = 1 };

/// What stands for a GID in an Ethernet entry, and in the mailbox of MGID_HASH. Sources: Linux 6.1
/// mcg.c mlx4_unicast_attach, mlx4_multicast_attach; en_netdev.c mlx4_en_uc_steer_add.
struct mcg_ethernet_gid {
  static constexpr std::size_t bytes = 0x10;
  bits             port     {0x04, 23, 16, "port"};  ///< from 1
  as<mcg_steering> steering {0x04,  1,  1, "steering"};
  bits             mac      {0x08, 47,  0, "mac"};
};
static_assert(claimed<mcg_ethernet_gid>().sound);

/// The input modifier of WRITE_MCG with write_mcg_modifier::promiscuous: the entry of a port for
/// the Ethernet addresses that have none of their own (Linux 6.1 mcg.c mlx4_WRITE_PROMISC).
struct mcg_promiscuous_modifier {
  static constexpr std::size_t bytes = 4;
  bits             port     {0x00, 23, 16, "port"};
  as<mcg_steering> steering {0x00,  1,  1, "steering"};
};
static_assert(claimed<mcg_promiscuous_modifier>().sound);

struct mcg_member {
  static constexpr std::size_t bytes = 4;
  /// What the QP sends does not come back to it.
  as<bool> block_loopback {0x00, 30, 30, "block_loopback"};
  bits     qpn            {0x00, 23,  0, "qpn"};
};
static_assert(claimed<mcg_member>().sound);

/// Queue pairs in an entry of 2^log_entry_sz bytes, 7 to 12 in Linux (mcg.c mlx4_get_qp_per_mgm).
constexpr unsigned mcg_members_per_entry(unsigned log_entry_sz) {
  return 4 * ((1u << log_entry_sz) / 16 - 2);
}
static_assert(mcg_members_per_entry(8) == 56 && mcg_members_per_entry(10) == 248);

}  // namespace freehca::layouts

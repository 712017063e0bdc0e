// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What drivers rely on among the numbers of one variant, each with the driver that does. They work
// on real cards, so the cards' numbers are such; those that were chosen must be too.
#pragma once

#include <algorithm>
#include <bit>

#include <freehca/layouts/register_map.hpp>

#include "basis/adapter_limits.hpp"

namespace freehca::model {

/// Not instantiated where a relation does not hold: the assertion names it.
template <const adapter_limits& L>
struct adapter_limits_fit {
  /// The last number of iPXE's table with `reserved` firmware's entries and `own` of its own:
  /// hermon.c hermon_map_icm.
  static constexpr unsigned ipxe_entries(unsigned reserved, unsigned own) {
    return std::bit_ceil(reserved + own);
  }

  // Each page of UARs has four EQ doorbells, so an EQ whose doorbell is in a reserved page is
  // reserved. Linux fw.c mlx4_QUERY_DEV_CAP and Theseus mlx4 raise the number of reserved EQs to
  // that. iPXE takes that EQ (hermon.c hermon_create_eq) but sizes its table by the reserved EQs
  // alone: the number itself must do.
  static constexpr unsigned eqs_of_reserved_uars =
      layouts::uar::eq_doorbells_per_page * L.reserved_uars;
  static_assert(L.reserved_eqs() >= eqs_of_reserved_uars);
  static_assert(std::max(eqs_of_reserved_uars, L.reserved_eqs()) <
                ipxe_entries(L.reserved_eqs(), 8));
  // The UAR pages with doorbells of EQs are the first 128 (Linux device.h
  // mlx4_get_num_reserved_uar), which iPXE and Linux use for nothing else: every EQ has its
  // doorbell there, and so have the reserved ones.
  static_assert(1u << L.log_eqs <= layouts::uar::eq_pages * layouts::uar::eq_doorbells_per_page);
  static_assert(L.reserved_uars <= layouts::uar::eq_pages);
  // Linux makes at most 128 EQs (device.h MAX_MSIX): of those, two are the least that it takes
  // (main.c mlx4_enable_msi_x).
  static_assert(std::min(1u << L.log_eqs, 128u) >= L.reserved_eqs() + 2);
  // Linux reads the reserved EQs as a logarithm, the PRM and iPXE as a number in eight bits.
  static_assert(L.reserved_eqs() < 256);

  // The eight special queue pairs stand on a multiple of their number (Linux qp.c
  // mlx4_init_qp_table, iPXE hermon.c hermon_configure_special_qps); iPXE puts random bits above
  // 0xfff (hermon.h HERMON_QPN_RANDOM_MASK).
  static_assert(L.reserved_qps() % 8 == 0);
  static_assert(ipxe_entries(L.reserved_qps(), 15 + 8) <= 0x1000);
  // iPXE's one region has the first index that is not reserved, below a prefix in the key's upper
  // byte (hermon.h HERMON_MKEY_PREFIX).
  static_assert(L.reserved_mpts() < 1u << 24);
  // A key's index is all but its low byte (Linux mr.c key_to_hw_index).
  static_assert(L.reserved_lkey >> 8 < L.reserved_mpts());

  // The default profile of Linux (main.c default_profile) and its tables of multicast groups.
  static_assert(L.log_qps >= 18 && L.log_srqs >= 16 && L.log_cqs >= 16 && L.log_mpts >= 19);
  static_assert(L.log_groups >= 13 && L.log_read_resources >= 4);
  // More than firmware's own fit in each table, and the numbers of objects have 24 bits.
  static_assert(L.log_reserved_qps < L.log_qps && L.log_qps <= 24);
  static_assert(L.log_reserved_srqs < L.log_srqs && L.log_srqs <= 24);
  static_assert(L.log_reserved_cqs < L.log_cqs && L.log_cqs <= 24);
  static_assert(L.log_reserved_eqs < L.log_eqs);
  static_assert(L.log_reserved_mpts < L.log_mpts && L.log_mpts <= 24);
  static_assert(L.log_reserved_mtts < L.log_mtts);
  static_assert(L.reserved_pds < 1u << L.log_pds);

  // What Linux makes of the sizes of WQEs is what ibv_devinfo was seen to print (captures): 32
  // entries in a list, 31 in an SRQ's (main.c mlx4_dev_cap).
  static_assert(std::min(L.send_segments, L.receive_segments) == 32);
  static_assert(L.receive_wqe_bytes / 16 - 1 == 31);
  static_assert(L.send_wqe_bytes == 16 * (L.send_segments + 1));
  // Linux refuses an adapter whose smallest page is above its own (main.c mlx4_dev_cap).
  static_assert(L.log_least_page_bytes <= 12);
  // Linux warns of ports with fewer MACs and VLANs (main.c mlx4_dev_cap), and writes tables of 128
  // (mlx4.h MLX4_MAX_MAC_NUM, MLX4_MAX_VLAN_NUM); contexts have seven bits for an index of either.
  static_assert(L.log_macs == 7 && L.log_vlans == 7);
  // A context's counter_index has eight bits, and 0xff is none; Linux keeps all from the power of
  // two below the number on to itself, the last among them (main.c mlx4_init_counters_table).
  static_assert(L.counters < 0xff && std::has_single_bit(L.counters));
  // The row has four bits; a port of Linux has up to 16 rings, or 128 by ethtool (mlx4_en.h
  // MAX_RX_RINGS).
  static_assert(L.log_rss_queues >= 7 && L.log_rss_queues < 16 && L.log_rss_queues < L.log_qps);
  // BlueFlame registers fill their page (Linux fw.c: else it takes eight).
  static_assert(L.log_blueflame_bytes + L.log_blueflames_per_page == 12);
};

template struct adapter_limits_fit<limits_connectx3_pro>;
template struct adapter_limits_fit<limits_connectx3>;
template struct adapter_limits_fit<limits_connectx2>;

}  // namespace freehca::model

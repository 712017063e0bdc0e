// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Attributes of subnet management that switches alone have (smp::data, dr_smp::data).
//
// Sources: InfiniBand Architecture Specification vol. 1, 14.2.5.4 and 14.2.5.9 to 14.2.5.12, as
// read through OpenSM's include/iba/ib_types.h (ib_switch_info_t), rdma-core libibmad/fields.c
// (IB_SW_*, bit tables), infiniband-diags/ibroute.c (forwarding tables).
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// LinearFDBTop: the greatest LID that the table has a port for. PortStateChange: a Set that writes
/// a one clears it.
struct switch_info {
  static constexpr std::size_t bytes = 20;
  bits     linear_fdb_cap            {0x00, 31, 16, "linear_fdb_cap"};
  bits     random_fdb_cap            {0x00, 15,  0, "random_fdb_cap"};
  bits     multicast_fdb_cap         {0x04, 31, 16, "multicast_fdb_cap"};
  bits     linear_fdb_top            {0x04, 15,  0, "linear_fdb_top"};
  bits     default_port              {0x08, 31, 24, "default_port"};
  bits     default_multicast_primary {0x08, 23, 16, "default_multicast_primary"};
  bits     default_multicast_other   {0x08, 15,  8, "default_multicast_other"};
  bits     life_time                 {0x08,  7,  3, "life_time_value"};
  as<bool> port_state_change         {0x08,  2,  2, "port_state_change"};
  bits     optimized_sl_to_vl        {0x08,  1,  0, "optimized_sl_to_vl"};
  bits     lids_per_port             {0x0c, 31, 16, "lids_per_port"};
  bits     partition_enforcement_cap {0x0c, 15,  0, "partition_enforcement_cap"};
  as<bool> inbound_enforcement_cap   {0x10, 31, 31, "inbound_enforcement_cap"};
  as<bool> outbound_enforcement_cap  {0x10, 30, 30, "outbound_enforcement_cap"};
  as<bool> filter_raw_inbound_cap    {0x10, 29, 29, "filter_raw_inbound_cap"};
  as<bool> filter_raw_outbound_cap   {0x10, 28, 28, "filter_raw_outbound_cap"};
  as<bool> enhanced_port_0           {0x10, 27, 27, "enhanced_port_0"};
  bits     multicast_fdb_top         {0x10, 15,  0, "multicast_fdb_top"};
};

/// A block of 64 ports, one for each LID; the attribute modifier is the block's number.
struct linear_forwarding_block {
  static constexpr std::size_t bytes = 64;
  raw<64> ports {0x00, "ports"};
};
inline constexpr unsigned lids_per_linear_block = 64;
inline constexpr std::uint8_t forwards_nowhere = 0xff;  ///< of a LID, and of a default port

/// A block of 32 masks of 16 ports, one for each multicast LID. The attribute modifier's bits 8 to
/// 0 are the block's number, bits 31 to 28 say which 16 ports. Read by
/// element<&multicast_forwarding_block::masks, u16>; bit n is port 16 * position + n.
struct multicast_forwarding_block {
  static constexpr std::size_t bytes = 64;
  raw<64> masks {0x00, "masks"};
};
inline constexpr unsigned lids_per_multicast_block = 32;
inline constexpr unsigned ports_per_multicast_mask = 16;

static_assert(switch_info{}.linear_fdb_top.offset == 4 && switch_info{}.lids_per_port.offset == 12);
static_assert(switch_info{}.multicast_fdb_top.offset + 4 == switch_info::bytes);

}  // namespace freehca::layouts

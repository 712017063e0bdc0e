// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// MAD_IFC: management datagrams to and from firmware's agents.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Input mailbox: 256 bytes of datagram, then, with mad_ifc_modifier::extended_info, the block
/// below. Output mailbox: 256 bytes of datagram.
inline constexpr std::size_t mad_ifc_mad_bytes = 0x100;
inline constexpr std::size_t mad_ifc_extended_info_offset = 0x100;

/// How the datagram came in: where key violation traps go. Sources: Linux 6.1
/// infiniband/hw/mlx4/mad.c mlx4_MAD_IFC; iPXE MT25408_PRM.h mad_ifc.
struct mad_ifc_extended_info {
  static constexpr std::size_t bytes = 0x100;
  bits     my_qpn     {0x00, 23,  0, "my_qpn"};
  bits     rqpn       {0x08, 23,  0, "rqpn"};  ///< source QP
  bits     sl         {0x0c, 31, 28, "sl"};
  as<bool> g          {0x0c, 23, 23, "g"};  ///< grh is valid
  bits     ml_path    {0x0c, 22, 16, "ml_path"};  ///< path bits of the destination LID
  bits     pkey_index {0x10, 15,  0, "pkey_index"};
  raw<40>  grh        {0x40, "grh"};
};
static_assert(mad_ifc_extended_info{}.grh.offset == 0x40 && claimed<mad_ifc_extended_info>().sound);

/// What the input modifier says. `slid` counts with extended_info only.
struct mad_ifc_input_modifier {
  static constexpr std::size_t bytes = 4;
  bits slid {0x00, 31, 16, "slid"};
  bits port {0x00,  7,  0, "port"};
};
static_assert(claimed<mad_ifc_input_modifier>().sound);

/// MAD_DEMUX: which datagrams firmware's own agent takes, a bit per attribute and method; the
/// mailbox of query_restrictions is what config is given (Linux 6.1 fw.c mlx4_config_mad_demux).
/// With the four masks that Linux reads nonzero (set, getresp, trap, trap_repress) the device is in
/// secure-host mode. Each method has 16 bytes, in the order of their codes; the places of get,
/// send, report and report_resp follow from that order. Bit n of a mask is the attribute with
/// identifier n (no source: chosen).
struct mad_demux {
  static constexpr std::size_t bytes = 0x80;
  bits get_attr_mask          {0x00, 31,  0, "get_attr_mask"};
  bits set_attr_mask          {0x10, 31,  0, "set_attr_mask"};
  bits getresp_attr_mask      {0x20, 31,  0, "getresp_attr_mask"};
  bits send_attr_mask         {0x30, 31,  0, "send_attr_mask"};
  bits trap_attr_mask         {0x40, 31,  0, "trap_attr_mask"};
  bits report_attr_mask       {0x50, 31,  0, "report_attr_mask"};
  bits report_resp_attr_mask  {0x60, 31,  0, "report_resp_attr_mask"};
  bits trap_repress_attr_mask {0x70, 31,  0, "trap_repress_attr_mask"};
};
static_assert(claimed<mad_demux>().sound);
inline constexpr std::uint32_t mad_demux_subnet_management = 1;  ///< input modifier

/// CONF_SPECIAL_QP: the input modifier is the first of the special QPs, a multiple of eight, 0 to
/// take the setting back. In order: QP0 of port 1, QP0 of port 2, QP1 of port 1, QP1 of port 2;
/// drivers use no others of the eight (Linux 6.1 qp.c mlx4_init_qp_table). The opcode modifier is
/// zero in all drivers; iPXE names it the set of special QPs that stay internal to firmware.
inline constexpr unsigned special_qps = 8;
constexpr std::uint32_t special_qp(std::uint32_t base_qpn, unsigned qp_0_or_1, unsigned port) {
  return base_qpn + 2 * qp_0_or_1 + port - 1;
}

}  // namespace freehca::layouts

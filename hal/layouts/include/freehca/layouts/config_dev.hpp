// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// CONFIG_DEV, GET_OP_REQ, VIRT_PORT_MAP: small mailboxes.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// CONFIG_DEV, both ways. Source: Linux 6.1 fw.c struct mlx4_config_dev. u_*: change the field.
struct config_dev {
  static constexpr std::size_t bytes = 0x84;
  as<bool> u_disable_rx_port_check {0x00, 18, 18, "u_disable_rx_port_check"};
  as<bool> u_roce_v2_udp_dport     {0x00,  3,  3, "u_roce_v2_udp_dport"};
  as<bool> u_vxlan_udp_dport       {0x00,  0,  0, "u_vxlan_udp_dport"};
  bits     vxlan_udp_dport         {0x10, 31, 16, "vxlan_udp_dport"};
  bits     roce_v2_entropy         {0x14, 31, 16, "roce_v2_entropy"};
  bits     roce_v2_udp_dport       {0x14, 15,  0, "roce_v2_udp_dport"};
  as<bool> disable_rx_port_check   {0x18, 15, 15, "disable_rx_port_check"};
  bits     rx_checksum_port2       {0x80,  6,  4, "rx_checksum_port2"};
  bits     rx_checksum_port1       {0x80,  2,  0, "rx_checksum_port1"};
};
static_assert(config_dev{}.roce_v2_udp_dport.offset == 0x14 && claimed<config_dev>().sound);

/// GET_OP_REQ, output: what firmware wants done after an operation_required event. Type 0x26 adds
/// QPs to, or removes them from, the multicast group whose mcg_header is at 0x20. Acknowledged with
/// modifier 1 and input modifier status | token << 16. Source: Linux 6.1 fw.c mlx4_opreq_action.
struct get_op_req {
  static constexpr std::size_t bytes = 0x20;
  bits modifier {0x08, 31,  0, "modifier"};
  bits token    {0x14, 31, 16, "token"};
  bits type     {0x18, 11,  0, "type"};
};
static_assert(claimed<get_op_req>().sound);

/// The same with the count of the multicast group's members.
struct get_op_req_group : get_op_req {
  static constexpr std::size_t bytes = 0x40;
  bits members_count {0x24, 23,  0, "members_count"};
};
static_assert(claimed<get_op_req_group>().sound);

/// GET_OP_REQ, the input modifier of an acknowledgement.
struct get_op_req_result {
  static constexpr std::size_t bytes = 4;
  bits token  {0x00, 31, 16, "token"};
  bits status {0x00, 15,  0, "status"};
};
static_assert(claimed<get_op_req_result>().sound);

/// VIRT_PORT_MAP (Linux 6.1 fw.c mlx4_virt2phy_port_map).
struct virt_port_map {
  static constexpr std::size_t bytes = 8;
  bits v_port1 {0x00, 31,  0, "v_port1"};
  bits v_port2 {0x04, 31,  0, "v_port2"};
};
static_assert(claimed<virt_port_map>().sound);

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Device-managed flow steering: the rules of QP_FLOW_STEERING_ATTACH. The mailbox holds a
// flow_rule_control and behind it the headers that a packet must have, outermost first; the
// command's input modifier counts the 32-bit words of it all, and its immediate output names the
// rule for QP_FLOW_STEERING_DETACH.
// Sources: Linux 6.1 device.h struct mlx4_net_trans_rule_hw_*, mcg.c (identifiers, types, flags),
// main.c of mlx4_ib (the mask of a QP number).
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// What a rule catches. All but `regular` need no headers.
enum class flow_rule_type : std::uint8_t {
  regular = 0,
  all_default = 1,  ///< what no other rule takes
  multicast_default = 3,
  mirror_receive = 4,
  mirror_send = 5,
  unicast_sniffer = 6,
  multicast_sniffer = 7,
};

struct flow_rule_control {
  static constexpr std::size_t bytes = 0x10;
  bits               priority       {0x00, 31, 16, "priority"};  ///< smaller comes first
  as<flow_rule_type> type           {0x00, 15,  8, "type"};
  /// What the QP sends comes back to it.
  as<bool>           allow_loopback {0x00,  3,  3, "allow_loopback"};
  as<bool>           exclusive      {0x00,  2,  2, "exclusive"};
  /// Before the others of its priority, else behind them.
  as<bool>           lifo           {0x00,  0,  0, "lifo"};
  bits               function       {0x04, 23, 16, "function"};
  bits               vep            {0x04, 15,  8, "vep"};
  bits               port           {0x04,  7,  0, "port"};  ///< from 1
  bits               qpn            {0x08, 23,  0, "qpn"};
};
static_assert(claimed<flow_rule_control>().sound);

enum class flow_header_id : std::uint16_t {
  ethernet = 0xe001,
  ipv4 = 0xe002,
  ipv6 = 0xe003,
  tcp = 0xe004,
  infiniband = 0xe005,
  udp = 0xe006,
  vxlan = 0xe008,
};

/// What every header of a rule begins with.
struct flow_header {
  static constexpr std::size_t bytes = 0x4;
  bits               words {0x00, 31, 24, "words"};  ///< 32-bit words of the header, these included
  as<flow_header_id> id    {0x00, 15,  0, "id"};
};
static_assert(claimed<flow_header>().sound);

/// A value counts where its mask has ones; so in the others.
struct flow_header_infiniband {
  static constexpr std::size_t bytes = 0x30;
  bits               words     {0x00, 31, 24, "words"};
  as<flow_header_id> id        {0x00, 15,  0, "id"};
  bits               qpn       {0x08, 31,  0, "qpn"};  ///< the destination
  bits               qpn_mask  {0x0c, 31,  0, "qpn_mask"};
  raw<16>            dgid      {0x10, "dgid"};
  raw<16>            dgid_mask {0x20, "dgid_mask"};
};
static_assert(claimed<flow_header_infiniband>().sound);

struct flow_header_ethernet {
  static constexpr std::size_t bytes = 0x30;
  bits               words            {0x00, 31, 24, "words"};
  as<flow_header_id> id               {0x00, 15,  0, "id"};
  bits               dmac             {0x08, 47,  0, "dmac"};
  bits               dmac_mask        {0x10, 47,  0, "dmac_mask"};
  bits               smac             {0x18, 47,  0, "smac"};
  bits               smac_mask        {0x20, 47,  0, "smac_mask"};
  as<bool>           ether_type_valid {0x28, 16, 16, "ether_type_valid"};  ///< it has no mask
  bits               ether_type       {0x28, 15,  0, "ether_type"};
  bits               vlan_mask        {0x2c, 31, 16, "vlan_mask"};
  bits               vlan             {0x2c, 15,  0, "vlan"};
};
static_assert(flow_header_ethernet{}.vlan.offset == 0x2c && claimed<flow_header_ethernet>().sound);

/// In front of the inner headers; without a mask any VXLAN header.
struct flow_header_vxlan {
  static constexpr std::size_t bytes = 0x10;
  bits               words    {0x00, 31, 24, "words"};
  as<flow_header_id> id       {0x00, 15,  0, "id"};
  bits               vni      {0x08, 31,  8, "vni"};
  bits               vni_mask {0x0c, 31,  8, "vni_mask"};
};
static_assert(claimed<flow_header_vxlan>().sound);

struct flow_header_ipv4 {
  static constexpr std::size_t bytes = 0x18;
  bits               words            {0x00, 31, 24, "words"};
  as<flow_header_id> id               {0x00, 15,  0, "id"};
  bits               destination      {0x08, 31,  0, "destination"};
  bits               destination_mask {0x0c, 31,  0, "destination_mask"};
  bits               source           {0x10, 31,  0, "source"};
  bits               source_mask      {0x14, 31,  0, "source_mask"};
};
static_assert(claimed<flow_header_ipv4>().sound);

/// TCP and UDP alike.
struct flow_header_ports {
  static constexpr std::size_t bytes = 0x18;
  bits               words            {0x00, 31, 24, "words"};
  as<flow_header_id> id               {0x00, 15,  0, "id"};
  bits               destination      {0x08, 15,  0, "destination"};
  bits               destination_mask {0x0c, 15,  0, "destination_mask"};
  bits               source           {0x10, 15,  0, "source"};
  bits               source_mask      {0x14, 15,  0, "source_mask"};
};
static_assert(claimed<flow_header_ports>().sound);

/// FLOW_STEERING_IB_UC_QP_RANGE, the immediate input: InfiniBand unicast to these queue pairs is
/// steered by rules.
struct steered_qp_range {
  static constexpr std::size_t bytes = 0x8;
  bits first {0x00, 31,  0, "first"};
  bits last  {0x04, 31,  0, "last"};
};
static_assert(claimed<steered_qp_range>().sound);

}  // namespace freehca::layouts

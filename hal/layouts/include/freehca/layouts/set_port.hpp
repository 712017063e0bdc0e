// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The inputs of SET_PORT: the InfiniBand form and the Ethernet forms. Which one the mailbox holds
// is said by set_port_modifier and set_port_selector (opcode.hpp).
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// set_port_modifier::ib. Sources: Linux 6.1 port.c mlx4_SET_PORT, infiniband/hw/mlx4/main.c
/// mlx4_ib_SET_PORT; iPXE hermon.h set_port_ib and illumos hermon_hw.h for the other rows. Every
/// call replaces the capability mask. A vl_cap that the port cannot have is answered by
/// exceeds_limits or by bad_size (ConnectX-2 does so at start, docs/hardware.md); Linux then tries
/// 8, 4, 2, 1 in turn.
struct set_port_ib {
  static constexpr std::size_t bytes = 0x80;
  as<bool> lss                  {0x00, 28, 28, "lss"};  ///< set the link speed
  as<bool> lws                  {0x00, 27, 27, "lws"};  ///< set the link width
  as<bool> mmc                  {0x00, 22, 22, "mmc"};  ///< change mtu_cap
  as<bool> mvc                  {0x00, 21, 21, "mvc"};  ///< change vl_cap
  as<bool> mp                   {0x00, 20, 20, "mp"};  ///< change max_pkey
  as<bool> mg                   {0x00, 19, 19, "mg"};  ///< change max_gid
  as<bool> sig                  {0x00, 18, 18, "sig"};  ///< set the system image GUID
  as<bool> ng                   {0x00, 17, 17, "ng"};  ///< set the node GUID
  as<bool> g0                   {0x00, 16, 16, "g0"};  ///< set GUID 0 of the port
  bits     mtu_cap              {0x00, 15, 12, "mtu_cap"};  ///< IBTA code
  bits     vl_cap               {0x00,  7,  4, "vl_cap"};  ///< a number, not the IBTA code
  as<bool> rcm                  {0x00,  1,  1, "rcm"};  ///< reset the capability mask
  as<bool> rqk                  {0x00,  0,  0, "rqk"};  ///< reset the Q_Key violation counter
  bits     capability_mask      {0x04, 31,  0, "capability_mask"};  ///< PortInfo:CapabilityMask
  bits     system_image_guid    {0x08, 63,  0, "system_image_guid"};
  bits     guid0                {0x10, 63,  0, "guid0"};
  bits     node_guid            {0x18, 63,  0, "node_guid"};
  bits     egress_sniff_mode    {0x20, 25, 24, "egress_sniff_mode"};
  bits     egress_sniff_qpn     {0x20, 23,  0, "egress_sniff_qpn"};
  bits     ingress_sniff_mode   {0x24, 25, 24, "ingress_sniff_mode"};
  bits     ingress_sniff_qpn    {0x24, 23,  0, "ingress_sniff_qpn"};
  bits     max_pkey             {0x28, 31, 16, "max_pkey"};
  bits     max_gid              {0x28, 15,  0, "max_gid"};
  bits     link_speed_supported {0x70,  7,  4, "link_speed_supported"};
  bits     link_width_supported {0x70,  3,  0, "link_width_supported"};
};
static_assert(set_port_ib{}.max_pkey.offset == 0x28 && claimed<set_port_ib>().sound);

/// The InfiniBand form before command interface revision 3 (Linux 6.1 infiniband/hw/mlx4/main.c).
struct set_port_ib_rev2 {
  static constexpr std::size_t bytes = 0x40;
  as<bool> rqk             {0x00, 30, 30, "rqk"};  ///< reset the Q_Key violation counter
  bits     capability_mask {0x08, 31,  0, "capability_mask"};
};
static_assert(claimed<set_port_ib_rev2>().sound);

enum class port_roce_mode : std::uint8_t { v1 = 0, v1_and_v2 = 2 };

/// set_port_selector::general. Sources: Linux 6.1 mlx4.h struct mlx4_set_port_general_context,
/// port.c, fw.c mlx4_SET_PORT_phv_bit. v_*: the field counts.
struct set_port_general {
  static constexpr std::size_t bytes = 0x24;
  as<bool>           v_user_mac   {0x00, 14, 14, "v_user_mac"};
  as<bool>           v_user_mtu   {0x00, 13, 13, "v_user_mtu"};
  as<bool>           v_phv        {0x00, 12, 12, "v_phv"};
  as<bool>           v_ignore_fcs {0x00,  9,  9, "v_ignore_fcs"};
  as<bool>           v_roce_mode  {0x00,  4,  4, "v_roce_mode"};
  as<bool>           v_pptx       {0x00,  2,  2, "v_pptx"};
  as<bool>           v_pprx       {0x00,  1,  1, "v_pprx"};
  as<bool>           v_mtu        {0x00,  0,  0, "v_mtu"};
  as<port_roce_mode> roce_mode    {0x04, 31, 28, "roce_mode"};
  as<bool>           ignore_fcs   {0x04, 24, 24, "ignore_fcs"};
  bits               mtu          {0x04, 15,  0, "mtu"};
  as<bool>           pptx         {0x08, 31, 31, "pptx"};  ///< send global pause
  bits               pfctx        {0x08, 23, 16, "pfctx"};  ///< send pause, by priority
  as<bool>           pprx         {0x0c, 31, 31, "pprx"};
  bits               pfcrx        {0x0c, 23, 16, "pfcrx"};
  as<bool>           phv_en       {0x14, 31, 31, "phv_en"};
  bits               user_mtu     {0x18, 15,  0, "user_mtu"};
  raw<6>             user_mac     {0x1e, "user_mac"};
};
static_assert(set_port_general{}.mtu.offset == 0x04 && claimed<set_port_general>().sound);

enum class mcast_mode : std::uint8_t { direct_only = 0, direct = 1, standard = 2 };

/// set_port_selector::rqp_calc: which QP receives a frame, with A0 steering. Sources: Linux 6.1
/// mlx4.h struct mlx4_set_port_rqp_calc_context, port.c; iPXE hermon.h set_port_rqp_calc for
/// widths.
struct set_port_rqp_calc {
  static constexpr std::size_t bytes = 0x20;
  bits                    base_qpn        {0x00, 23,  0, "base_qpn"};
  /// bits of the QP number that come from the MAC index
  bits                    n_mac           {0x04, 19, 16, "n_mac"};
  bits                    n_vlan          {0x04, 10,  8, "n_vlan"};
  bits                    n_prio          {0x04,  1,  0, "n_prio"};
  bits                    mac_miss        {0x08,  7,  0, "mac_miss"};
  as<bool>                intra_no_vlan   {0x0c, 31, 31, "intra_no_vlan"};
  bits                    no_vlan         {0x0c, 22, 16, "no_vlan"};
  as<bool>                intra_vlan_miss {0x0c, 15, 15, "intra_vlan_miss"};
  bits                    vlan_miss       {0x0c,  6,  0, "vlan_miss"};
  bits                    no_vlan_prio    {0x10,  2,  0, "no_vlan_prio"};
  as<bool>                promisc         {0x14, 31, 31, "promisc"};
  bits                    promisc_qpn     {0x14, 23,  0, "promisc_qpn"};
  as<layouts::mcast_mode> mcast_mode      {0x18, 31, 30, "mcast_mode"};
  as<bool>                mc_by_vlan      {0x18, 29, 29, "mc_by_vlan"};
  bits                    mcast_qpn       {0x18, 23,  0, "mcast_qpn"};
};
static_assert(claimed<set_port_rqp_calc>().sound);

/// set_port_selector::mac_table: 128 of these (Linux 6.1 port.c MLX4_MAC_VALID).
struct set_port_mac_entry {
  static constexpr std::size_t bytes = 8;
  as<bool> valid {0x00, 31, 31, "valid"};
  bits     mac   {0x00, 47,  0, "mac"};
};
static_assert(claimed<set_port_mac_entry>().sound);
inline constexpr unsigned set_port_mac_entries = 128;

/// set_port_selector::vlan_table: 128 of these; 0 (no VLAN) and 1 (VLAN not found) are reserved
/// (Linux 6.1 port.c MLX4_VLAN_VALID, device.h MLX4_VLAN_REGULAR; illumos for `intra`).
struct set_port_vlan_entry {
  static constexpr std::size_t bytes = 4;
  as<bool> valid   {0x00, 31, 31, "valid"};
  as<bool> intra   {0x00, 30, 30, "intra"};
  bits     vlan_id {0x00, 11,  0, "vlan_id"};
};
static_assert(claimed<set_port_vlan_entry>().sound);
inline constexpr unsigned set_port_vlan_entries = 128, set_port_vlan_first = 2;

/// set_port_selector::prio_map (illumos hermon_hw.h).
struct set_port_prio_map {
  static constexpr std::size_t bytes = 0x10;
  bits prio7 {0x00, 30, 28, "prio7"};
  bits prio6 {0x00, 26, 24, "prio6"};
  bits prio5 {0x00, 22, 20, "prio5"};
  bits prio4 {0x00, 18, 16, "prio4"};
  bits prio3 {0x00, 14, 12, "prio3"};
  bits prio2 {0x00, 10,  8, "prio2"};
  bits prio1 {0x00,  6,  4, "prio1"};
  bits prio0 {0x00,  2,  0, "prio0"};
};
static_assert(claimed<set_port_prio_map>().sound);

/// set_port_selector::gid_table: 128 of these (Linux 6.1 infiniband/hw/mlx4/main.c
/// mlx4_ib_update_gids_v1).
struct set_port_gid_entry {
  static constexpr std::size_t bytes = 0x10;
  raw<16> gid {0x00, "gid"};
};
static_assert(claimed<set_port_gid_entry>().sound);
inline constexpr unsigned set_port_gid_entries = 128;

/// set_port_selector::roce_addr: 128 of these (main.c mlx4_ib_update_gids_v1_v2). RoCE v1 is all
/// zero.
struct set_port_roce_addr_entry {
  static constexpr std::size_t bytes = 0x20;
  raw<16> gid     {0x00, "gid"};
  bits    type    {0x18, 15,  8, "type"};  ///< version 2: 1 for IPv6, 0 for IPv4
  bits    version {0x18,  7,  0, "version"};  ///< 2: RoCE v2
};
static_assert(set_port_roce_addr_entry{}.version.offset == 0x18 && claimed<set_port_roce_addr_entry>().sound);

/// set_port_selector::prio2tc: traffic class of each priority (Linux 6.1 fw_qos.c).
struct set_port_prio2tc {
  static constexpr std::size_t bytes = 4;
  bits prio0 {0x00, 31, 28, "prio0"};
  bits prio1 {0x00, 27, 24, "prio1"};
  bits prio2 {0x00, 23, 20, "prio2"};
  bits prio3 {0x00, 19, 16, "prio3"};
  bits prio4 {0x00, 15, 12, "prio4"};
  bits prio5 {0x00, 11,  8, "prio5"};
  bits prio6 {0x00,  7,  4, "prio6"};
  bits prio7 {0x00,  3,  0, "prio7"};
};
static_assert(claimed<set_port_prio2tc>().sound);

/// All other values are reserved (Linux 6.1 fw_qos.c).
enum class bandwidth_unit : std::uint16_t { mbps_100 = 3, gbps_1 = 4 };

/// set_port_selector::scheduler: 8 of these, one per traffic class (Linux 6.1 fw_qos.c).
struct set_port_scheduler_entry {
  static constexpr std::size_t bytes = 8;
  bits               pg            {0x00, 31, 16, "pg"};  ///< priority group
  bits               bw_percentage {0x00, 15,  0, "bw_percentage"};
  as<bandwidth_unit> max_bw_units  {0x04, 31, 16, "max_bw_units"};
  bits               max_bw_value  {0x04, 15,  0, "max_bw_value"};
};
static_assert(claimed<set_port_scheduler_entry>().sound);
inline constexpr unsigned set_port_traffic_classes = 8;
/// In the unit of 1 Gb/s: any rate (Linux 6.1 device.h MLX4_RATELIMIT_DEFAULT).
inline constexpr unsigned no_bandwidth_limit = 0xff;

/// set_port_selector::vxlan (Linux 6.1 port.c struct mlx4_set_port_vxlan_context).
struct set_port_vxlan {
  static constexpr std::size_t bytes = 8;
  as<bool> modify_enable   {0x04, 31, 31, "modify_enable"};
  as<bool> modify_steering {0x04, 30, 30, "modify_steering"};
  as<bool> enable          {0x04, 15, 15, "enable"};
  bits     steering        {0x04,  7,  0, "steering"};
};
static_assert(claimed<set_port_vxlan>().sound);

/// set_port_modifier::beacon: seconds to blink, 0 stops, 0xffff goes on (Linux 6.1 port.c,
/// mlx4_en).
struct set_port_beacon {
  static constexpr std::size_t bytes = 4;
  bits seconds {0x00, 31,  0, "seconds"};
};
static_assert(claimed<set_port_beacon>().sound);

}  // namespace freehca::layouts

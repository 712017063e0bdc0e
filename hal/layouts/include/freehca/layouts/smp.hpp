// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Attributes of subnet management (smp::data, dr_smp::data; 64 bytes).
//
// Sources: InfiniBand Architecture Specification vol. 1, chapter 14, as read through
// include/rdma/ib_smi.h and rdma-core libibmad/fields.c (bit tables), libibmad/dump.c (codes),
// libibumad/umad_sm.h; values of real cards: captures.
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class smp_attribute : std::uint16_t {
  notice = 0x0002,
  node_description = 0x0010,
  node_info = 0x0011,
  switch_info = 0x0012,
  guid_info = 0x0014,
  port_info = 0x0015,
  pkey_table = 0x0016,
  sl_to_vl_table = 0x0017,
  vl_arbitration = 0x0018,
  linear_forwarding = 0x0019,
  random_forwarding = 0x001a,
  multicast_forwarding = 0x001b,
  sm_info = 0x0020,
  vendor_diag = 0x0030,
  led_info = 0x0031,
  module_info = 0xff60,  ///< module_info.hpp
  mlnx_ext_port_info = 0xff90,
};

enum class node_type : std::uint8_t { channel_adapter = 1, switch_node = 2, router = 3 };

/// The rows of NodeInfo at byte Base. revision: the hardware version that verbs report.
template <unsigned Base>
struct node_info_at {
  bits          base_version      {Base + 0x00, 31, 24, "base_version"};
  bits          class_version     {Base + 0x00, 23, 16, "class_version"};
  as<node_type> type              {Base + 0x00, 15,  8, "node_type"};
  bits          num_ports         {Base + 0x00,  7,  0, "num_ports"};
  bits          system_image_guid {Base + 0x04, 63,  0, "system_image_guid"};
  bits          node_guid         {Base + 0x0c, 63,  0, "node_guid"};
  bits          port_guid         {Base + 0x14, 63,  0, "port_guid"};
  bits          partition_cap     {Base + 0x1c, 31, 16, "partition_cap"};
  bits          device_id         {Base + 0x1c, 15,  0, "device_id"};
  bits          revision          {Base + 0x20, 31,  0, "revision"};
  bits          local_port_num    {Base + 0x24, 31, 24, "local_port_num"};
  bits          vendor_id         {Base + 0x24, 23,  0, "vendor_id"};
};
struct node_info : node_info_at<0> {
  static constexpr std::size_t bytes = 40;
};

struct node_description {
  static constexpr std::size_t bytes = 64;
  raw<64> text {0x00, "text"};
};

enum class port_state : std::uint8_t { no_change = 0, down = 1, initialize = 2, armed = 3, active = 4 };
enum class port_physical_state : std::uint8_t {
  no_change = 0,
  sleep = 1,
  polling = 2,
  disabled = 3,
  training = 4,
  link_up = 5,
  link_error_recovery = 6,
  phy_test = 7,
};
/// Codes of width and speed; "supported" and "enabled" are sums of them.
enum class link_width : std::uint8_t { x1 = 1, x4 = 2, x8 = 4, x12 = 8, x2 = 16 };
enum class link_speed : std::uint8_t { extended = 0, sdr = 1, ddr = 2, qdr = 4 };
enum class link_speed_ext : std::uint8_t { none = 0, fdr = 1, edr = 2 };
/// vl_cap and operational_vls.
enum class vl_code : std::uint8_t { no_change = 0, vl0 = 1, vl0_1 = 2, vl0_3 = 3, vl0_7 = 4, vl0_14 = 5 };

/// The rows of PortInfo at byte Base.
template <unsigned Base>
struct port_info_at {
  bits                    mkey                     {Base + 0x00, 63,  0, "mkey"};
  bits                    gid_prefix               {Base + 0x08, 63,  0, "gid_prefix"};
  bits                    lid                      {Base + 0x10, 31, 16, "lid"};
  bits                    master_sm_lid            {Base + 0x10, 15,  0, "master_sm_lid"};
  bits                    capability_mask          {Base + 0x14, 31,  0, "capability_mask"};
  bits                    diag_code                {Base + 0x18, 31, 16, "diag_code"};
  bits                    mkey_lease_period        {Base + 0x18, 15,  0, "mkey_lease_period"};
  bits                    local_port_num           {Base + 0x1c, 31, 24, "local_port_num"};
  bits                    link_width_enabled       {Base + 0x1c, 23, 16, "link_width_enabled"};
  bits                    link_width_supported     {Base + 0x1c, 15,  8, "link_width_supported"};
  as<link_width>          link_width_active        {Base + 0x1c,  7,  0, "link_width_active"};
  bits                    link_speed_supported     {Base + 0x20, 31, 28, "link_speed_supported"};
  as<port_state>          state                    {Base + 0x20, 27, 24, "port_state"};
  as<port_physical_state> physical_state           {Base + 0x20, 23, 20, "port_physical_state"};
  bits                    link_down_default        {Base + 0x20, 19, 16, "link_down_default_state"};
  bits                    mkey_protect             {Base + 0x20, 15, 14, "mkey_protect_bits"};
  bits                    lmc                      {Base + 0x20, 10,  8, "lmc"};
  as<link_speed>          link_speed_active        {Base + 0x20,  7,  4, "link_speed_active"};
  bits                    link_speed_enabled       {Base + 0x20,  3,  0, "link_speed_enabled"};
  as<ib_mtu>              neighbor_mtu             {Base + 0x24, 31, 28, "neighbor_mtu"};
  bits                    master_sm_sl             {Base + 0x24, 27, 24, "master_sm_sl"};
  as<vl_code>             vl_cap                   {Base + 0x24, 23, 20, "vl_cap"};
  bits                    init_type                {Base + 0x24, 19, 16, "init_type"};
  bits                    vl_high_limit            {Base + 0x24, 15,  8, "vl_high_limit"};
  bits                    vl_arb_high_cap          {Base + 0x24,  7,  0, "vl_arbitration_high_cap"};
  bits                    vl_arb_low_cap           {Base + 0x28, 31, 24, "vl_arbitration_low_cap"};
  bits                    init_type_reply          {Base + 0x28, 23, 20, "init_type_reply"};
  as<ib_mtu>              mtu_cap                  {Base + 0x28, 19, 16, "mtu_cap"};
  bits                    vl_stall_count           {Base + 0x28, 15, 13, "vl_stall_count"};
  bits                    hoq_life                 {Base + 0x28, 12,  8, "hoq_life"};
  as<vl_code>             operational_vls          {Base + 0x28,  7,  4, "operational_vls"};
  as<bool>                partition_enforce_in     {Base + 0x28,  3,  3, "partition_enforcement_in"};
  as<bool>                partition_enforce_out    {Base + 0x28,  2,  2, "partition_enforcement_out"};
  as<bool>                filter_raw_in            {Base + 0x28,  1,  1, "filter_raw_inbound"};
  as<bool>                filter_raw_out           {Base + 0x28,  0,  0, "filter_raw_outbound"};
  bits                    mkey_violations          {Base + 0x2c, 31, 16, "mkey_violations"};
  bits                    pkey_violations          {Base + 0x2c, 15,  0, "pkey_violations"};
  bits                    qkey_violations          {Base + 0x30, 31, 16, "qkey_violations"};
  bits                    guid_cap                 {Base + 0x30, 15,  8, "guid_cap"};
  as<bool>                client_reregister        {Base + 0x30,  7,  7, "client_reregister"};
  bits                    mcast_pkey_trap_suppress {Base + 0x30,  6,  5, "mcast_pkey_trap_suppress"};
  bits                    subnet_timeout           {Base + 0x30,  4,  0, "subnet_timeout"};
  bits                    resp_time                {Base + 0x34, 28, 24, "resp_time"};
  bits                    local_phy_errors         {Base + 0x34, 23, 20, "local_phy_errors"};
  bits                    overrun_errors           {Base + 0x34, 19, 16, "overrun_errors"};
  bits                    max_credit_hint          {Base + 0x34, 15,  0, "max_credit_hint"};
  bits                    link_roundtrip_latency   {Base + 0x38, 23,  0, "link_roundtrip_latency"};
  bits                    capability_mask2         {Base + 0x3c, 31, 16, "capability_mask2"};
  as<link_speed_ext>      link_speed_ext_active    {Base + 0x3c, 15, 12, "link_speed_ext_active"};
  bits                    link_speed_ext_supported {Base + 0x3c, 11,  8, "link_speed_ext_supported"};
  bits                    link_speed_ext_enabled   {Base + 0x3c,  4,  0, "link_speed_ext_enabled"};
};
struct port_info : port_info_at<0> {
  static constexpr std::size_t bytes = 64;
};

/// Bits of capability_mask. Source: include/rdma/ib_mad.h (enum ib_port_capability_mask_bits).
namespace port_capability {
inline constexpr std::uint32_t sm = 1u << 1;
inline constexpr std::uint32_t notice = 1u << 2;
inline constexpr std::uint32_t trap = 1u << 3;
inline constexpr std::uint32_t optional_ipd = 1u << 4;
inline constexpr std::uint32_t automatic_migration = 1u << 5;
inline constexpr std::uint32_t sl_mapping = 1u << 6;
inline constexpr std::uint32_t mkey_nvram = 1u << 7;
inline constexpr std::uint32_t pkey_nvram = 1u << 8;
inline constexpr std::uint32_t led_info = 1u << 9;
inline constexpr std::uint32_t sm_disabled = 1u << 10;
inline constexpr std::uint32_t system_image_guid = 1u << 11;
inline constexpr std::uint32_t pkey_switch_external_port_trap = 1u << 12;
inline constexpr std::uint32_t extended_speeds = 1u << 14;
inline constexpr std::uint32_t capability_mask2 = 1u << 15;
inline constexpr std::uint32_t communication_management = 1u << 16;
inline constexpr std::uint32_t snmp_tunneling = 1u << 17;
inline constexpr std::uint32_t reinit = 1u << 18;
inline constexpr std::uint32_t device_management = 1u << 19;
inline constexpr std::uint32_t vendor_class = 1u << 20;
inline constexpr std::uint32_t dr_notice = 1u << 21;
inline constexpr std::uint32_t capability_mask_notice = 1u << 22;
inline constexpr std::uint32_t boot_management = 1u << 23;
inline constexpr std::uint32_t link_roundtrip_latency = 1u << 24;
inline constexpr std::uint32_t client_reregistration = 1u << 25;
inline constexpr std::uint32_t other_local_changes_notice = 1u << 26;
}  // namespace port_capability

/// A block of 8 GUIDs; the attribute modifier is the block's number. Read by
/// element<&guid_info::guids, u64>.
struct guid_info {
  static constexpr std::size_t bytes = 64;
  raw<64> guids {0x00, "guids"};
};
inline constexpr unsigned guids_per_block = 8;

/// A block of 32 P_Keys; the attribute modifier's low half is the block's number (its high half a
/// switch port). Read by element<&pkey_table::pkeys, u16>. Bit 15 of a P_Key: full member.
struct pkey_table {
  static constexpr std::size_t bytes = 64;
  raw<64> pkeys {0x00, "pkeys"};
};
inline constexpr unsigned pkeys_per_block = 32;

/// SL to VL: four bits for each SL, SL 0 in the highest four.
struct sl_to_vl_table {
  static constexpr std::size_t bytes = 8;
  bits vls {0x00, 63,  0, "vls"};
};
constexpr unsigned vl_of_sl(std::uint64_t vls, unsigned sl) {
  return static_cast<unsigned>(vls >> (60 - 4 * (sl & 15)) & 15);
}

/// A block of 32 pairs of bytes: VL (low four bits) and weight. Attribute modifier, high half: 1
/// and 2 low priority, 3 and 4 high.
struct vl_arbitration {
  static constexpr std::size_t bytes = 64;
  raw<64> entries {0x00, "entries"};
};

enum class sm_state : std::uint8_t { not_active = 0, discovering = 1, standby = 2, master = 3 };

struct sm_info {
  static constexpr std::size_t bytes = 24;
  bits         guid           {0x00, 63,  0, "guid"};
  bits         sm_key         {0x08, 63,  0, "sm_key"};
  bits         activity_count {0x10, 31,  0, "activity_count"};
  bits         priority       {0x14, 31, 28, "priority"};
  as<sm_state> state          {0x14, 27, 24, "sm_state"};
};

/// Vendor attribute 0xff90. Values: bit 0 FDR10. Source: rdma-core libibmad/fields.c (Mellanox
/// ExtendedPortInfo); what real cards answer: captures.
struct mlnx_ext_port_info {
  static constexpr std::size_t bytes = 64;
  bits state_change_enable  {0x00,  7,  0, "state_change_enable"};
  bits link_speed_supported {0x04,  7,  0, "link_speed_supported"};
  bits link_speed_enabled   {0x08,  7,  0, "link_speed_enabled"};
  bits link_speed_active    {0x0c,  7,  0, "link_speed_active"};
};

static_assert(port_info{}.state.offset == 32 && port_info{}.capability_mask2.offset == 60);
static_assert(node_info{}.port_guid.offset == 20 && node_info{}.vendor_id.offset == 36);

}  // namespace freehca::layouts

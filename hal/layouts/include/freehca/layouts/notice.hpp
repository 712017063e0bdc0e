// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Notices (traps), and InformInfo, which subscribes to them.
//
// Sources: InfiniBand Architecture Specification vol. 1, 13.4.8 and 14.2.5, as read through
// include/rdma/ib_mad.h (struct ib_mad_notice_attr), rdma-core libibmad/iba_types.h and
// libibumad/umad_sm.h (trap numbers).
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::layouts {

enum class notice_type : std::uint8_t {
  fatal = 0,
  urgent = 1,
  security = 2,
  subnet_management = 3,
  informational = 4,
  empty = 0x7f,
};

enum class trap : std::uint16_t {
  gid_in_service = 64,
  gid_out_of_service = 65,
  mgid_created = 66,
  mgid_deleted = 67,
  unpath = 68,
  repath = 69,
  link_state_changed = 128,
  link_integrity = 129,
  buffer_overrun = 130,
  flow_control_watchdog = 131,
  local_changes = 144,
  system_image_guid_changed = 145,
  bad_mkey = 256,
  bad_pkey = 257,
  bad_qkey = 258,
  bad_switch_pkey = 259,
};

/// The rows that all generic notices have.
struct notice_rows {
  as<bool>        is_generic    {0x00, 31, 31, "is_generic"};
  as<notice_type> type          {0x00, 30, 24, "notice_type"};
  as<node_type>   producer_type {0x00, 23,  0, "producer_type"};
  as<trap>        number        {0x04, 31, 16, "trap_number"};
  bits            issuer_lid    {0x04, 15,  0, "issuer_lid"};
  as<bool>        toggle        {0x08, 31, 31, "notice_toggle"};
  bits            count         {0x08, 30, 16, "notice_count"};
};

/// A notice as a subnet management attribute.
struct notice : notice_rows {
  static constexpr std::size_t bytes = 64;
  raw<54> details {0x0a, "details"};
};

/// A notice as subnet administration forwards it, with its issuer's GID.
struct notice_report : notice_rows {
  static constexpr std::size_t bytes = 80;
  raw<54> details    {0x0a, "details"};
  raw<16> issuer_gid {0x40, "issuer_gid"};
};

/// Traps 64 to 67: a GID or a multicast GID came or went.
struct notice_gid : notice_rows {
  static constexpr std::size_t bytes = 64;
  raw<16> gid {0x10, "gid"};
};

/// Trap 128.
struct notice_link_state : notice_rows {
  static constexpr std::size_t bytes = 64;
  bits lid {0x08, 15,  0, "lid"};
};

/// Traps 129 to 131.
struct notice_port_error : notice_rows {
  static constexpr std::size_t bytes = 64;
  bits lid      {0x0c, 31, 16, "lid"};
  bits port_num {0x0c, 15,  8, "port_num"};
};

/// Trap 144: capability mask, node description or enabled widths and speeds changed.
struct notice_local_changes : notice_rows {
  static constexpr std::size_t bytes = 64;
  bits     lid                      {0x0c, 31, 16, "lid"};
  as<bool> other_changes            {0x0c,  0,  0, "other_local_changes"};
  bits     capability_mask          {0x10, 31,  0, "capability_mask"};
  as<bool> speed_enabled_changed    {0x14, 18, 18, "link_speed_enabled_changed"};
  as<bool> width_enabled_changed    {0x14, 17, 17, "link_width_enabled_changed"};
  as<bool> node_description_changed {0x14, 16, 16, "node_description_changed"};
};

/// Trap 145.
struct notice_system_guid : notice_rows {
  static constexpr std::size_t bytes = 64;
  bits lid               {0x0c, 31, 16, "lid"};
  bits system_image_guid {0x10, 63,  0, "system_image_guid"};
};

/// Trap 256.
struct notice_bad_mkey : notice_rows {
  static constexpr std::size_t bytes = 64;
  bits     lid                {0x0c, 31, 16, "lid"};
  bits     dr_slid            {0x0c, 15,  0, "dr_slid"};
  bits     method             {0x10, 31, 24, "method"};
  bits     attribute_id       {0x10, 15,  0, "attribute_id"};
  bits     attribute_modifier {0x14, 31,  0, "attribute_modifier"};
  bits     mkey               {0x18, 63,  0, "mkey"};
  as<bool> dr_notice          {0x20, 23, 23, "dr_notice"};
  as<bool> dr_path_truncated  {0x20, 22, 22, "dr_path_truncated"};
  bits     dr_hop_count       {0x20, 21, 16, "dr_hop_count"};
  raw<30>  dr_return_path     {0x22, "dr_return_path"};
};

/// Traps 257 and 258.
struct notice_bad_key : notice_rows {
  static constexpr std::size_t bytes = 64;
  bits    lid1 {0x0c, 31, 16, "lid1"};
  bits    lid2 {0x0c, 15,  0, "lid2"};
  bits    key  {0x10, 31,  0, "key"};
  bits    sl   {0x14, 31, 28, "sl"};
  bits    qp1  {0x14, 23,  0, "qp1"};
  bits    qp2  {0x18, 23,  0, "qp2"};
  raw<16> gid1 {0x1c, "gid1"};
  raw<16> gid2 {0x2c, "gid2"};
};

/// InformInfo. type 0xffff, number 0xffff, producer 0xffffff: all; lid_range_begin 0xffff: any LID.
struct inform_info {
  static constexpr std::size_t bytes = 36;
  raw<16> gid             {0x00, "gid"};
  bits    lid_range_begin {0x10, 31, 16, "lid_range_begin"};
  bits    lid_range_end   {0x10, 15,  0, "lid_range_end"};
  bits    is_generic      {0x14, 15,  8, "is_generic"};
  bits    subscribe       {0x14,  7,  0, "subscribe"};
  bits    type            {0x18, 31, 16, "notice_type"};
  bits    trap_number     {0x18, 15,  0, "trap_number"};
  bits    qpn             {0x1c, 31,  8, "qpn"};
  bits    resp_time       {0x1c,  4,  0, "resp_time"};
  bits    producer_type   {0x20, 23,  0, "producer_type"};
};

static_assert(notice{}.details.offset + 54 == 64 && notice_bad_mkey{}.dr_return_path.offset + 30 == 64);

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Records of subnet administration (sa_mad::data).
//
// Sources: InfiniBand Architecture Specification vol. 1, chapter 15, as read through
// drivers/infiniband/core/sa_query.c (bit tables), rdma-core libibmad/fields.c, iba_types.h
// (component masks), libibumad/umad_sa.h and umad_sa_mcm.h.
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::layouts {

inline constexpr std::uint8_t sa_class_version = 2;

enum class sa_attribute : std::uint16_t {
  class_port_info = 0x0001,
  notice = 0x0002,
  inform_info = 0x0003,
  node_record = 0x0011,
  port_info_record = 0x0012,
  sl_to_vl_record = 0x0013,
  switch_info_record = 0x0014,
  linear_forwarding_record = 0x0015,
  random_forwarding_record = 0x0016,
  multicast_forwarding_record = 0x0017,
  sm_info_record = 0x0018,
  link_record = 0x0020,
  guid_info_record = 0x0030,
  service_record = 0x0031,
  pkey_table_record = 0x0033,
  path_record = 0x0035,
  vl_arbitration_record = 0x0036,
  mcmember_record = 0x0038,
  trace_record = 0x0039,
  multi_path_record = 0x003a,
  inform_info_record = 0x00f3,
};

/// Class status, the high byte of the MAD's status word.
enum class sa_status : std::uint8_t {
  success = 0,
  no_resources = 1,
  request_invalid = 2,
  no_records = 3,
  too_many_records = 4,
  invalid_gid = 5,
  insufficient_components = 6,
  request_denied = 7,
  priority_suggested = 8,
};

/// How a queried MTU, rate or lifetime compares. 3: the largest MTU or rate, the smallest lifetime.
enum class sa_selector : std::uint8_t { greater_than = 0, less_than = 1, exactly = 2, best = 3 };

struct path_record {
  static constexpr std::size_t bytes = 64;
  bits            service_id           {0x00, 63,  0, "service_id"};
  raw<16>         dgid                 {0x08, "dgid"};
  raw<16>         sgid                 {0x18, "sgid"};
  bits            dlid                 {0x28, 31, 16, "dlid"};
  bits            slid                 {0x28, 15,  0, "slid"};
  as<bool>        raw_traffic          {0x2c, 31, 31, "raw_traffic"};
  bits            flow_label           {0x2c, 27,  8, "flow_label"};
  bits            hop_limit            {0x2c,  7,  0, "hop_limit"};
  bits            tclass               {0x30, 31, 24, "tclass"};
  as<bool>        reversible           {0x30, 23, 23, "reversible"};
  bits            numb_path            {0x30, 22, 16, "numb_path"};
  bits            pkey                 {0x30, 15,  0, "pkey"};
  bits            qos_class            {0x34, 31, 20, "qos_class"};
  bits            sl                   {0x34, 19, 16, "sl"};
  as<sa_selector> mtu_selector         {0x34, 15, 14, "mtu_selector"};
  as<ib_mtu>      mtu                  {0x34, 13,  8, "mtu"};
  as<sa_selector> rate_selector        {0x34,  7,  6, "rate_selector"};
  as<ib_rate>     rate                 {0x34,  5,  0, "rate"};
  as<sa_selector> packet_life_selector {0x38, 31, 30, "packet_life_selector"};
  bits            packet_life          {0x38, 29, 24, "packet_life"};  // 4.096 us * 2^n
  bits            preference           {0x38, 23, 16, "preference"};
};

/// Component mask of PathRecord. The service identifier has two bits (IBTA 1.2.1).
namespace path_component {
inline constexpr std::uint64_t service_id = 3ull << 0;
inline constexpr std::uint64_t dgid = 1ull << 2;
inline constexpr std::uint64_t sgid = 1ull << 3;
inline constexpr std::uint64_t dlid = 1ull << 4;
inline constexpr std::uint64_t slid = 1ull << 5;
inline constexpr std::uint64_t raw_traffic = 1ull << 6;
inline constexpr std::uint64_t flow_label = 1ull << 8;
inline constexpr std::uint64_t hop_limit = 1ull << 9;
inline constexpr std::uint64_t tclass = 1ull << 10;
inline constexpr std::uint64_t reversible = 1ull << 11;
inline constexpr std::uint64_t numb_path = 1ull << 12;
inline constexpr std::uint64_t pkey = 1ull << 13;
inline constexpr std::uint64_t qos_class = 1ull << 14;
inline constexpr std::uint64_t sl = 1ull << 15;
inline constexpr std::uint64_t mtu_selector = 1ull << 16;
inline constexpr std::uint64_t mtu = 1ull << 17;
inline constexpr std::uint64_t rate_selector = 1ull << 18;
inline constexpr std::uint64_t rate = 1ull << 19;
inline constexpr std::uint64_t packet_life_selector = 1ull << 20;
inline constexpr std::uint64_t packet_life = 1ull << 21;
}  // namespace path_component

/// 52 bytes; on the wire each record takes 56 (attribute_offset 7).
struct mcmember_record {
  static constexpr std::size_t bytes = 52;
  raw<16>         mgid                 {0x00, "mgid"};
  raw<16>         port_gid             {0x10, "port_gid"};
  bits            qkey                 {0x20, 31,  0, "qkey"};
  bits            mlid                 {0x24, 31, 16, "mlid"};
  as<sa_selector> mtu_selector         {0x24, 15, 14, "mtu_selector"};
  as<ib_mtu>      mtu                  {0x24, 13,  8, "mtu"};
  bits            tclass               {0x24,  7,  0, "tclass"};
  bits            pkey                 {0x28, 31, 16, "pkey"};
  as<sa_selector> rate_selector        {0x28, 15, 14, "rate_selector"};
  as<ib_rate>     rate                 {0x28, 13,  8, "rate"};
  as<sa_selector> packet_life_selector {0x28,  7,  6, "packet_life_selector"};
  bits            packet_life          {0x28,  5,  0, "packet_life"};
  bits            sl                   {0x2c, 31, 28, "sl"};
  bits            flow_label           {0x2c, 27,  8, "flow_label"};
  bits            hop_limit            {0x2c,  7,  0, "hop_limit"};
  bits            scope                {0x30, 31, 28, "scope"};
  bits            join_state           {0x30, 27, 24, "join_state"};
  as<bool>        proxy_join           {0x30, 23, 23, "proxy_join"};
};

namespace mcmember_component {
inline constexpr std::uint64_t mgid = 1ull << 0;
inline constexpr std::uint64_t port_gid = 1ull << 1;
inline constexpr std::uint64_t qkey = 1ull << 2;
inline constexpr std::uint64_t mlid = 1ull << 3;
inline constexpr std::uint64_t mtu_selector = 1ull << 4;
inline constexpr std::uint64_t mtu = 1ull << 5;
inline constexpr std::uint64_t tclass = 1ull << 6;
inline constexpr std::uint64_t pkey = 1ull << 7;
inline constexpr std::uint64_t rate_selector = 1ull << 8;
inline constexpr std::uint64_t rate = 1ull << 9;
inline constexpr std::uint64_t packet_life_selector = 1ull << 10;
inline constexpr std::uint64_t packet_life = 1ull << 11;
inline constexpr std::uint64_t sl = 1ull << 12;
inline constexpr std::uint64_t flow_label = 1ull << 13;
inline constexpr std::uint64_t hop_limit = 1ull << 14;
inline constexpr std::uint64_t scope = 1ull << 15;
inline constexpr std::uint64_t join_state = 1ull << 16;
inline constexpr std::uint64_t proxy_join = 1ull << 17;
}  // namespace mcmember_component

/// Bits of join_state.
namespace join_state {
inline constexpr std::uint8_t full_member = 1;
inline constexpr std::uint8_t non_member = 2;
inline constexpr std::uint8_t send_only_non_member = 4;
inline constexpr std::uint8_t send_only_full_member = 8;
}  // namespace join_state

/// Scopes of a multicast GID.
enum class mcast_scope : std::uint8_t {
  link_local = 2,
  site_local = 5,
  organization_local = 8,
  global = 14,
};

/// 108 bytes; on the wire 112 (attribute_offset 14).
struct node_record : node_info_at<0x04> {
  static constexpr std::size_t bytes = 108;
  bits    lid         {0x00, 31, 16, "lid"};
  raw<64> description {0x2c, "description"};
};
using node_record_info = node_info_at<0x04>;  ///< its fields' names: &node_record_info::node_guid

/// 68 bytes; on the wire 72 (attribute_offset 9).
struct port_info_record : port_info_at<0x04> {
  static constexpr std::size_t bytes = 68;
  bits endport_lid {0x00, 31, 16, "endport_lid"};
  bits port_num    {0x00, 15,  8, "port_num"};
  bits options     {0x00,  7,  0, "options"};
};
using port_record_info = port_info_at<0x04>;

struct guid_info_record {
  static constexpr std::size_t bytes = 72;
  bits    lid          {0x00, 31, 16, "lid"};
  bits    block_number {0x00, 15,  8, "block_number"};
  raw<64> guids        {0x08, "guids"};
};

/// A block of P_Keys of a port. Source: rdma-core libibumad, iba_types.h (ib_pkey_table_record_t).
struct pkey_table_record {
  static constexpr std::size_t bytes = 72;
  bits    lid          {0x00, 31, 16, "lid"};
  bits    block_number {0x00, 15,  0, "block_number"};
  bits    port_num     {0x04, 31, 24, "port_num"};
  raw<64> pkeys        {0x08, "pkeys"};
};

/// 28 bytes; on the wire 32 (attribute_offset 4).
struct sm_info_record {
  static constexpr std::size_t bytes = 28;
  bits                  lid            {0x00, 31, 16, "lid"};
  bits                  guid           {0x04, 63,  0, "guid"};
  bits                  sm_key         {0x0c, 63,  0, "sm_key"};
  bits                  activity_count {0x14, 31,  0, "activity_count"};
  bits                  priority       {0x18, 31, 28, "priority"};
  as<layouts::sm_state> state          {0x18, 27, 24, "sm_state"};
};

struct service_record {
  static constexpr std::size_t bytes = 176;
  bits    service_id    {0x00, 63,  0, "service_id"};
  raw<16> service_gid   {0x08, "service_gid"};
  bits    service_pkey  {0x18, 31, 16, "service_pkey"};
  bits    service_lease {0x1c, 31,  0, "service_lease"};  // seconds; all ones: for ever
  raw<16> service_key   {0x20, "service_key"};
  raw<64> service_name  {0x30, "service_name"};
  raw<64> service_data  {0x70, "service_data"};
};

/// A link, seen from one of its ends: 6 bytes, on the wire 8. Sources of this and the next:
/// rdma-core libibmad/iba_types.h.
struct link_record {
  static constexpr std::size_t bytes = 8;
  bits from_lid  {0x00, 31, 16, "from_lid"};
  bits from_port {0x00, 15,  8, "from_port"};
  bits to_port   {0x00,  7,  0, "to_port"};
  bits to_lid    {0x04, 31, 16, "to_lid"};
};

/// A subscription: who has it, its number among those of one subscriber, and the InformInfo that
/// asked for it.
struct inform_info_record {
  static constexpr std::size_t bytes = 64;
  raw<16> subscriber_gid  {0x00, "subscriber_gid"};
  bits    subscriber_enum {0x10, 31, 16, "subscriber_enum"};
  raw<36> inform          {0x18, "inform_info"};
};

/// Components of the other records that their queries mostly name.
namespace record_component {
inline constexpr std::uint64_t node_lid = 1ull << 0;
inline constexpr std::uint64_t node_guid = 1ull << 7;
inline constexpr std::uint64_t node_port_guid = 1ull << 8;
inline constexpr std::uint64_t port_lid = 1ull << 0;
inline constexpr std::uint64_t port_num = 1ull << 1;
inline constexpr std::uint64_t port_capability_mask = 1ull << 7;
inline constexpr std::uint64_t pkey_lid = 1ull << 0;
inline constexpr std::uint64_t pkey_block_number = 1ull << 1;
inline constexpr std::uint64_t sm_info_lid = 1ull << 0;
inline constexpr std::uint64_t guid_lid = 1ull << 0;
inline constexpr std::uint64_t guid_block_number = 1ull << 1;
inline constexpr std::uint64_t link_from_lid = 1ull << 0;
inline constexpr std::uint64_t link_from_port = 1ull << 1;
inline constexpr std::uint64_t link_to_port = 1ull << 2;
inline constexpr std::uint64_t link_to_lid = 1ull << 3;
inline constexpr std::uint64_t subscriber_gid = 1ull << 0;
inline constexpr std::uint64_t subscriber_enum = 1ull << 1;
inline constexpr std::uint64_t service_id = 1ull << 0;
inline constexpr std::uint64_t service_gid = 1ull << 1;
inline constexpr std::uint64_t service_pkey = 1ull << 2;
inline constexpr std::uint64_t service_lease = 1ull << 4;
inline constexpr std::uint64_t service_key = 1ull << 5;
inline constexpr std::uint64_t service_name = 1ull << 6;
inline constexpr std::uint64_t service_data = 0x3fffffffull << 7;
}  // namespace record_component

/// What attribute_offset says for a record of that many bytes.
constexpr unsigned attribute_offset_of(std::size_t record_bytes) {
  return static_cast<unsigned>((record_bytes + 7) / 8);
}

static_assert(path_record{}.preference.offset == 56 && mcmember_record{}.scope.offset == 48);
static_assert(attribute_offset_of(mcmember_record::bytes) == 7 && attribute_offset_of(path_record::bytes) == 8);

}  // namespace freehca::layouts

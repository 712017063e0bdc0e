// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The input of INIT_HCA, the same layout as the output of QUERY_HCA.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// With device-managed steering the dmfs_* rows hold what the mc_* rows hold otherwise.
enum class dmfs_a0_mode : std::uint8_t { standard = 0, dynamic = 1, fixed = 2, disabled = 3 };

/// Bits of dmfs_eth_bits and dmfs_ib_bits (Linux 6.1 mlx4.h MLX4_FS_*).
enum class dmfs_bit : std::uint8_t { udp_unicast = 1u << 1, tcp_unicast = 1u << 2 };

inline constexpr std::uint8_t init_hca_version = 2;

/// Addresses are in context memory; each table is aligned to its size. Sources: Linux 6.1 fw.c
/// mlx4_INIT_HCA and mlx4_QUERY_HCA; iPXE MT25408_PRM.h (router rows, pfto); illumos hermon_hw.h
/// (cq moderation policy). Of the byte at 0x0c, QUERY_HCA gives the upper half of the clock, while
/// Linux writes VXLAN parser parameters, always zero, to it in INIT_HCA: the row here is
/// QUERY_HCA's.
struct init_hca {
  static constexpr std::size_t bytes = 0x200;
  bits             version                  {0x00, 31, 24, "version"};  ///< init_hca_version
  bits             global_caps              {0x04, 31,  0, "global_caps"};  ///< QUERY_HCA only
  /// QUERY_HCA only; MHz.
  bits             hca_core_clock           {0x0c, 31, 16, "hca_core_clock"};
  /// log2 of the host's cache line, less 4
  bits             log_cacheline_sz_minus_4 {0x0c, 15, 13, "log_cacheline_sz_minus_4"};
  as<bool>         cacheline_sz_valid       {0x0c, 12, 12, "cacheline_sz_valid"};
  as<bool>         phv_check_en             {0x0c,  9,  9, "phv_check_en"};  ///< QUERY_HCA only
  as<bool>         ib_router                {0x10, 31, 31, "ib_router"};
  as<bool>         ip_router_port1          {0x10, 30, 30, "ip_router_port1"};
  as<bool>         ip_router_port2          {0x10, 29, 29, "ip_router_port2"};
  bits             router_qp                {0x10, 23,  0, "router_qp"};
  bits             cq_moderation_policy     {0x14, 31, 30, "cq_moderation_policy"};
  bits             cqpm_short_packet_limit  {0x14, 29, 16, "cqpm_short_packet_limit"};
  as<bool>         rss_ip_fragments         {0x14, 13, 13, "rss_ip_fragments"};
  /// Device-managed flow steering.
  as<bool>         dmfs                     {0x14,  6,  6, "dmfs"};
  as<bool>         counters                 {0x14,  4,  4, "counters"};
  as<bool>         checksum_enable          {0x14,  3,  3, "checksum_enable"};
  as<bool>         qos                      {0x14,  2,  2, "qos"};
  as<bool>         host_is_big_endian       {0x14,  1,  1, "host_is_big_endian"};  ///< for atomics
  as<bool>         ud_av_port_check         {0x14,  0,  0, "ud_av_port_check"};
  as<bool>         recoverable_error_event  {0x18, 31, 31, "recoverable_error_event"};
  addr             qpc_base                 {0x30, 63,  5, "qpc_base"};
  bits             log_num_qps              {0x34,  4,  0, "log_num_qps"};
  addr             srqc_base                {0x48, 63,  5, "srqc_base"};
  bits             log_num_srqs             {0x4c,  4,  0, "log_num_srqs"};
  addr             cqc_base                 {0x50, 63,  5, "cqc_base"};
  bits             log_num_cqs              {0x54,  4,  0, "log_num_cqs"};
  as<bool>         cqe_64b                  {0x58, 30, 30, "cqe_64b"};
  as<bool>         eqe_64b                  {0x58, 29, 29, "eqe_64b"};
  /// 0: not used; else log2 of the bytes, less 5
  bits             eqe_stride               {0x58,  5,  4, "eqe_stride"};
  /// 0: not used; else log2 of the bytes, less 5
  bits             cqe_stride               {0x58,  1,  0, "cqe_stride"};
  addr             altc_base                {0x60, 63,  0, "altc_base"};
  addr             auxc_base                {0x70, 63,  0, "auxc_base"};
  addr             eqc_base                 {0x80, 63,  5, "eqc_base"};
  bits             log_num_eqs              {0x84,  4,  0, "log_num_eqs"};
  bits             num_sys_eqs              {0x88, 11,  0, "num_sys_eqs"};
  addr             rdmarc_base              {0x90, 63,  5, "rdmarc_base"};
  bits             log_rd_per_qp            {0x94,  2,  0, "log_rd_per_qp"};
  addr             mc_base                  {0xc0, 63,  0, "mc_base"};
  /// Log2 of the bytes.
  bits             log_mc_entry_sz          {0xd0,  4,  0, "log_mc_entry_sz"};
  bits             log_mc_hash_sz           {0xd4,  4,  0, "log_mc_hash_sz"};
  as<bool>         uc_steering              {0xd8, 27, 27, "uc_steering"};  ///< B0 steering
  /// 0: the default function.
  bits             mc_hash_fn               {0xd8, 26, 24, "mc_hash_fn"};
  /// hash table and overflow entries together
  bits             log_mc_table_sz          {0xd8,  4,  0, "log_mc_table_sz"};
  addr             dmpt_base                {0xf0, 63,  0, "dmpt_base"};
  as<bool>         mw_enable                {0xf8, 31, 31, "mw_enable"};
  bits             page_fault_rnr_timeout   {0xf8, 12,  8, "page_fault_rnr_timeout"};
  bits             log_mpt_sz               {0xf8,  5,  0, "log_mpt_sz"};
  addr             mtt_base                 {0x100, 63,  0, "mtt_base"};
  addr             cmpt_base                {0x108, 63,  0, "cmpt_base"};
  bits             log_max_uars             {0x128, 11,  8, "log_max_uars"};
  /// log2 of the page, in units of 4 KB
  bits             uar_page_sz              {0x128,  7,  0, "uar_page_sz"};
  /// Text that ends with a zero byte.
  raw<64>          driver_version           {0x140, "driver_version"};
  addr             dmfs_base                {0x1d0, 63,  0, "dmfs_base"};
  bits             dmfs_log_entry_sz        {0x1e0,  4,  0, "dmfs_log_entry_sz"};
  as<dmfs_a0_mode> dmfs_a0                  {0x1e8, 31, 30, "dmfs_a0"};
  bits             dmfs_log_table_sz        {0x1e8,  4,  0, "dmfs_log_table_sz"};
  bits             dmfs_eth_bits            {0x1f0, 23, 16, "dmfs_eth_bits"};  ///< dmfs_bit
  bits             dmfs_eth_num_addrs       {0x1f0, 15,  0, "dmfs_eth_num_addrs"};
  bits             dmfs_ib_bits             {0x1f4, 23, 16, "dmfs_ib_bits"};  ///< dmfs_bit
  bits             dmfs_ib_num_addrs        {0x1f4, 15,  0, "dmfs_ib_num_addrs"};
};
static_assert(init_hca{}.qpc_base.offset == 0x30 && init_hca{}.mc_base.offset == 0xc0 &&
              init_hca{}.dmpt_base.offset == 0xf0 && init_hca{}.uar_page_sz.offset == 0x128 &&
              claimed<init_hca>().sound);

}  // namespace freehca::layouts

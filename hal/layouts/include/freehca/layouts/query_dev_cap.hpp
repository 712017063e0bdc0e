// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The output of QUERY_DEV_CAP: what the device can do, and its limits.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Bits of `flags`. Sources: Linux 6.1 device.h MLX4_DEV_CAP_FLAG_*; iPXE MT25408_PRM.h
/// query_dev_cap and illumos hermon_hw.h for the bits that Linux does not name.
enum class dev_cap_flag : std::uint64_t {
  rc = 1ull << 0,
  uc = 1ull << 1,
  ud = 1ull << 2,
  xrc = 1ull << 3,
  reliable_multicast = 1ull << 4,
  fcoib = 1ull << 5,
  srq = 1ull << 6,
  ipoib_checksum = 1ull << 7,
  pkey_violation_counter = 1ull << 8,
  qkey_violation_counter = 1ull << 9,
  vmm = 1ull << 10,
  fcoe = 1ull << 11,
  dual_port_different_protocol = 1ull << 12,
  raw_ethertype = 1ull << 13,
  raw_ip = 1ull << 14,
  big_lso_header = 1ull << 15,
  memory_window = 1ull << 16,
  automatic_path_migration = 1ull << 17,
  atomic = 1ull << 18,
  raw_multicast = 1ull << 19,
  ud_av_port_check = 1ull << 20,
  ud_multicast = 1ull << 21,
  udm_ipv4 = 1ull << 22,
  dif = 1ull << 23,
  paging_on_demand = 1ull << 24,
  router = 1ull << 25,
  l2_multicast = 1ull << 26,
  ud_software_parsing = 1ull << 28,
  ipv6_extension_headers = 1ull << 29,
  roce = 1ull << 30,  ///< Linux IBOE; the older PRM has "low latency Ethernet" here
  fcoe_t11 = 1ull << 31,
  uc_loopback = 1ull << 32,
  fcs_keep = 1ull << 34,
  header_split = 1ull << 36,       ///< illumos
  wake_on_lan_port1 = 1ull << 37,  ///< illumos, older: header lookahead
  wake_on_lan_port2 = 1ull << 38,
  udp_rss = 1ull << 40,
  vep_uc_steering = 1ull << 41,
  vep_mc_steering = 1ull << 42,
  counters = 1ull << 48,
  rss_ip_fragments = 1ull << 52,
  set_eth_scheduler = 1ull << 53,
  sense_port = 1ull << 55,
  port_management_change_event = 1ull << 59,
  eqe_64b = 1ull << 61,
  cqe_64b = 1ull << 62,
  roce_bit_63 = 1ull << 63,  ///< cleared by Linux for multi-function; meaning not told
};

/// Bits of `bmme_flags`. Sources: Linux 6.1 device.h MLX4_BMME_FLAG_*, fw.c for the four that are
/// read as bytes of the same word, iPXE for bits 0 and 2 to 5.
enum class bmme_flag : std::uint32_t {
  base = 1u << 0,
  window_type_2b = 1u << 1,  ///< else 2A
  multiple_page_sizes = 1u << 2,
  block_list = 1u << 3,
  zero_based = 1u << 4,
  local_invalidate_fence = 1u << 5,
  local_invalidate = 1u << 6,
  remote_invalidate = 1u << 7,
  window_type_2 = 1u << 9,
  reserved_lkey = 1u << 10,
  fast_register = 1u << 11,
  skip_outer_vlan = 1u << 14,
  phv_enable = 1u << 15,
  roce_v1_v2 = 1u << 19,
  port_remap = 1u << 24,
  ignore_fcs = 1u << 26,
  vsd_init2rtr = 1u << 28,
  config_dev = 1u << 29,
};

/// Bits of `ext_2_flags` (Linux 6.1 fw.c QUERY_DEV_CAP_EXT_2_FLAGS_OFFSET, DEV_CAP_EXT_2_FLAG_*).
enum class dev_cap_ext_2_flag : std::uint32_t {
  update_qp = 1u << 16,
  update_qp_src_check_lb = 1u << 18,
  lb_src_check = 1u << 19,
  fsm = 1u << 20,  ///< MAC anti-spoofing
  more_than_80_vfs = 1u << 21,
  sw_cq_init = 1u << 23,
  roce_bit_24 = 1u << 24,  ///< cleared by Linux for multi-function; meaning not told
  vlan_control = 1u << 26,
  flow_statistics = 1u << 28,  ///< also named PFC_COUNTERS
};

/// Bits of `ext_3_flags` (Linux 6.1 fw.c, offsets 0x9c to 0x9e).
enum class dev_cap_ext_3_flag : std::uint32_t {
  eth_backplane_autoneg = 1u << 0,
  recoverable_error_event = 1u << 7,
  driver_version_to_fw = 1u << 8,
  vxlan_offloads = 1u << 11,
  ets_cfg = 1u << 13,
  diag_per_port = 1u << 17,
  reassign_mac = 1u << 22,
};

/// Sources: Linux 6.1 fw.c mlx4_QUERY_DEV_CAP, every field it reads; iPXE MT25408_PRM.h
/// query_dev_cap and illumos hermon_hw.h for num_rsvd_eqs, log_max_eq_sz, the scheduling queues,
/// log_max_mtts, log_drain_size, log_ethtype and the FCoIB bases. log_* is a logarithm to base 2 of
/// a number of objects; num_* a number.
struct query_dev_cap {
  static constexpr std::size_t bytes = 0x100;
  bits     log_max_srq_sz         {0x10, 31, 24, "log_max_srq_sz"};
  bits     log_max_qp_sz          {0x10, 23, 16, "log_max_qp_sz"};
  bits     log_rsvd_qps           {0x10, 11,  8, "log_rsvd_qps"};
  bits     log_max_qps            {0x10,  4,  0, "log_max_qps"};
  bits     log_rsvd_srqs          {0x14, 31, 28, "log_rsvd_srqs"};
  bits     log_max_srqs           {0x14, 20, 16, "log_max_srqs"};
  bits     num_rsvd_scqs          {0x14, 13,  8, "num_rsvd_scqs"};
  bits     log_max_scqs           {0x14,  3,  0, "log_max_scqs"};
  /// PRM only; Linux takes log_rsvd_eqs.
  bits     num_rsvd_eqs           {0x18, 31, 24, "num_rsvd_eqs"};
  bits     log_max_cq_sz          {0x18, 23, 16, "log_max_cq_sz"};
  bits     log_rsvd_cqs           {0x18, 11,  8, "log_rsvd_cqs"};
  bits     log_max_cqs            {0x18,  4,  0, "log_max_cqs"};
  bits     log_max_eq_sz          {0x1c, 31, 24, "log_max_eq_sz"};
  bits     log_max_mpts           {0x1c, 21, 16, "log_max_mpts"};
  bits     log_rsvd_eqs           {0x1c, 11,  8, "log_rsvd_eqs"};
  bits     log_max_eqs            {0x1c,  3,  0, "log_max_eqs"};
  bits     log_rsvd_mtts          {0x20, 31, 28, "log_rsvd_mtts"};
  bits     log_max_mrw_sz         {0x20, 22, 16, "log_max_mrw_sz"};
  bits     log_rsvd_mrws          {0x20, 11,  8, "log_rsvd_mrws"};
  bits     log_max_mtts           {0x20,  5,  0, "log_max_mtts"};
  /// 0: EQs are shared as before system EQs.
  bits     num_sys_eqs            {0x24, 11,  0, "num_sys_eqs"};
  /// RDMA reads and atomics as requester.
  bits     log_max_ra_req_qp      {0x28, 21, 16, "log_max_ra_req_qp"};
  bits     log_max_ra_res_qp      {0x28,  5,  0, "log_max_ra_res_qp"};  ///< as responder
  bits     log_max_gso_sz         {0x2c, 20, 16, "log_max_gso_sz"};  ///< 0: none
  as<bool> rss_xor                {0x2c, 13, 13, "rss_xor"};
  as<bool> rss_toeplitz           {0x2c, 12, 12, "rss_toeplitz"};
  bits     log_max_rss_tbl_sz     {0x2c, 11,  8, "log_max_rss_tbl_sz"};  ///< 0: none
  bits     log_max_ra_res_global  {0x2c,  5,  0, "log_max_ra_res_global"};
  as<bool> resize_srq             {0x30,  0,  0, "resize_srq"};
  as<bool> port_beacon            {0x34, 31, 31, "port_beacon"};
  bits     cq_moderation_policies {0x34, 23, 21, "cq_moderation_policies"};
  bits     local_ca_ack_delay     {0x34, 20, 16, "local_ca_ack_delay"};
  /// Command interfaces before revision 3, later in QUERY_PORT. The later PRM calls this byte the
  /// number of physical functions.
  bits     max_mtu_rev2             {0x34, 15, 12, "max_mtu_rev2"};
  bits     max_port_width_rev2      {0x34, 11,  8, "max_port_width_rev2"};
  bits     max_vl_rev2              {0x34,  7,  4, "max_vl_rev2"};
  bits     num_ports                {0x34,  3,  0, "num_ports"};
  bits     log_max_msg_sz           {0x38, 28, 24, "log_max_msg_sz"};
  bits     log_drain_size           {0x38, 23, 16, "log_drain_size"};
  bits     log_ethtype              {0x38, 11,  8, "log_ethtype"};
  /// Before revision 3, later in QUERY_PORT.
  bits     log_max_gid              {0x38,  3,  0, "log_max_gid"};
  bits     stat_rate_support        {0x3c, 31, 16, "stat_rate_support"};
  as<bool> cq_timestamp             {0x3c, 15, 15, "cq_timestamp"};
  /// Before revision 3, later in QUERY_PORT.
  bits     log_max_pkey             {0x3c,  3,  0, "log_max_pkey"};
  bits     flags                    {0x40, 63,  0, "flags"};  ///< dev_cap_flag
  bits     num_rsvd_uars            {0x48, 31, 28, "num_rsvd_uars"};
  bits     uar_sz                   {0x48, 21, 16, "uar_sz"};  ///< log2 of the UAR area in MB
  bits     log_page_sz              {0x48,  7,  0, "log_page_sz"};  ///< smallest page
  as<bool> bf                       {0x4c, 31, 31, "bf"};  ///< BlueFlame
  bits     log_bf_reg_sz            {0x4c, 20, 16, "log_bf_reg_sz"};
  bits     log_max_bf_regs_per_page {0x4c, 13,  8, "log_max_bf_regs_per_page"};
  bits     log_max_bf_pages         {0x4c,  5,  0, "log_max_bf_pages"};
  bits     max_sg_sq                {0x50, 23, 16, "max_sg_sq"};
  bits     max_desc_sz_sq           {0x50, 15,  0, "max_desc_sz_sq"};  ///< bytes
  bits     max_sg_rq                {0x54, 23, 16, "max_sg_rq"};
  bits     max_desc_sz_rq           {0x54, 15,  0, "max_desc_sz_rq"};  ///< bytes
  bits     fexch_base_qp            {0x58, 31, 24, "fexch_base_qp"};
  bits     fcp_ud_base_qp           {0x58, 23,  8, "fcp_ud_base_qp"};
  bits     fexch_base_mpt           {0x58,  7,  1, "fexch_base_mpt"};
  as<bool> user_mac_en              {0x5c, 26, 26, "user_mac_en"};
  as<bool> svlan_by_qp              {0x5c, 16, 16, "svlan_by_qp"};
  bits     log_max_qp_mcg           {0x60, 23, 16, "log_max_qp_mcg"};
  bits     num_rsvd_mcgs            {0x60, 11,  8, "num_rsvd_mcgs"};
  bits     log_max_mcgs             {0x60,  7,  0, "log_max_mcgs"};
  bits     num_rsvd_pds             {0x64, 31, 28, "num_rsvd_pds"};
  bits     log_max_pds              {0x64, 21, 16, "log_max_pds"};
  bits     num_rsvd_xrcds           {0x64, 15, 12, "num_rsvd_xrcds"};
  bits     log_max_xrcds            {0x64,  4,  0, "log_max_xrcds"};
  /// Read when dev_cap_flag::counters is set.
  bits     max_counters             {0x68, 31,  0, "max_counters"};
  bits     ext_2_flags              {0x70, 31,  0, "ext_2_flags"};  ///< dev_cap_ext_2_flag
  as<bool> dmfs_ipoib               {0x74, 31, 31, "dmfs_ipoib"};
  as<bool> dmfs                     {0x74, 15, 15, "dmfs"};  ///< device-managed flow steering
  as<bool> dmfs_sniffer             {0x74, 13, 13, "dmfs_sniffer"};
  bits     dmfs_log_max_uc_range    {0x74, 12,  8, "dmfs_log_max_uc_range"};
  bits     dmfs_max_qp_per_entry    {0x74,  7,  0, "dmfs_max_qp_per_entry"};
  as<bool> sl2vl_event              {0x78, 29, 29, "sl2vl_event"};
  as<bool> eqe_stride               {0x78, 15, 15, "eqe_stride"};
  as<bool> cqe_stride               {0x78, 14, 14, "cqe_stride"};
  as<bool> eth_protocol_control     {0x78, 13, 13, "eth_protocol_control"};
  as<bool> qos_vpp                  {0x78, 12, 12, "qos_vpp"};
  as<bool> qcn                      {0x78,  0,  0, "qcn"};
  bits     rdmarc_entry_sz          {0x80, 31, 16, "rdmarc_entry_sz"};  ///< these ten in bytes
  bits     qpc_entry_sz             {0x80, 15,  0, "qpc_entry_sz"};
  bits     aux_entry_sz             {0x84, 31, 16, "aux_entry_sz"};
  bits     altc_entry_sz            {0x84, 15,  0, "altc_entry_sz"};
  bits     eqc_entry_sz             {0x88, 31, 16, "eqc_entry_sz"};
  bits     cqc_entry_sz             {0x88, 15,  0, "cqc_entry_sz"};
  bits     srq_entry_sz             {0x8c, 31, 16, "srq_entry_sz"};
  bits     c_mpt_entry_sz           {0x8c, 15,  0, "c_mpt_entry_sz"};
  bits     mtt_entry_sz             {0x90, 31, 16, "mtt_entry_sz"};
  bits     d_mpt_entry_sz           {0x90, 15,  0, "d_mpt_entry_sz"};
  bits     bmme_flags               {0x94, 31,  0, "bmme_flags"};  ///< bmme_flag
  bits     reserved_lkey            {0x98, 31,  0, "reserved_lkey"};
  bits     ext_3_flags              {0x9c, 31,  0, "ext_3_flags"};  ///< dev_cap_ext_3_flag
  bits     max_icm_sz               {0xa0, 63,  0, "max_icm_sz"};  ///< bytes
  bits     dmfs_high_rate_qpn_base  {0xa8, 23,  0, "dmfs_high_rate_qpn_base"};
  bits     dmfs_high_rate_qpn_range {0xac, 23,  0, "dmfs_high_rate_qpn_range"};
  as<bool> mad_demux                {0xb0,  0,  0, "mad_demux"};
  as<bool> map_clock_to_user        {0xc0, 23, 23, "map_clock_to_user"};
  bits     qp_rate_limit_num        {0xcc, 31, 16, "qp_rate_limit_num"};  ///< 0: no rate limits
  /// 1 kb/s, 2 Mb/s, 3 Gb/s.
  bits     qp_rate_limit_max_unit   {0xd0, 31, 30, "qp_rate_limit_max_unit"};
  bits     qp_rate_limit_max_val    {0xd0, 27, 16, "qp_rate_limit_max_val"};
  bits     qp_rate_limit_min_unit   {0xd0, 15, 14, "qp_rate_limit_min_unit"};
  bits     qp_rate_limit_min_val    {0xd0, 11,  0, "qp_rate_limit_min_val"};
  bits     health_buffer_addr       {0xe4, 31,  0, "health_buffer_addr"};
};
static_assert(query_dev_cap{}.flags.offset == 0x40 && query_dev_cap{}.qpc_entry_sz.offset == 0x80 &&
              query_dev_cap{}.max_icm_sz.offset == 0xa0 && claimed<query_dev_cap>().sound);

}  // namespace freehca::layouts

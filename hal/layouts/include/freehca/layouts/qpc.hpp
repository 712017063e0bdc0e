// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The queue pair context: what RST2INIT_QP and its kin take, what QUERY_QP gives.
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Sources: include/linux/mlx4/qp.h (enum mlx4_qp_state); MT25408 PRM (iPXE), QP context, state: 9
/// too.
enum class qp_state : std::uint8_t {
  reset = 0,
  init = 1,
  rtr = 2,
  rts = 3,
  sq_error = 4,
  sq_drained = 5,
  error = 6,
  sq_draining = 7,
  suspended = 9,
};

/// Transport service. Sources: include/linux/mlx4/qp.h (MLX4_QP_ST_*); MT25408 PRM, st (the PRM
/// calls XRC "SRC"; 4 and 5 are Fibre Channel over InfiniBand, unused since ConnectX-3). Sources
/// disagree on raw Ethernet: the PRM lists 11, Linux uses `mlx` for QP0, QP1 and raw Ethernet
/// alike.
enum class qp_service : std::uint8_t {
  rc = 0,
  uc = 1,
  rd = 2,
  ud = 3,
  fcmnd = 4,
  fexch = 5,
  xrc = 6,
  mlx = 7,
  raw_ethernet = 11,
};

/// Set in the numbers of XRC targets, above the numbers of all queue pairs. The driver sets it in
/// commands. The device returns it in completions, and does not use it. The driver recognizes the
/// completions of XRC receives by it. Sources: Linux 6.1 hw/mlx4/qp.c (create_qp_common), rdma-core
/// providers/mlx4/mlx4.h (MLX4_XRC_QPN_BIT).
inline constexpr std::uint32_t xrc_target_qpn_bit = 1u << 23;

/// Path migration. Sources: include/linux/mlx4/qp.h (MLX4_QP_PM_*); MT25408 PRM: 2 is reserved, and
/// a QP without path migration (UD, or none wanted) says `migrated`.
enum class path_migration : std::uint8_t { armed = 0, rearm = 1, migrated = 3 };

/// What a RoCE QP puts around its packets. Source: drivers/infiniband/hw/mlx4/qp.c
/// (MLX4_QPC_ROCE_MODE_*).
enum class roce_mode : std::uint8_t { v1 = 0, v2 = 2 };

/// Link type of an address path. Source: drivers/infiniband/hw/mlx4/qp.c (MLX4_IB_LINK_TYPE_*).
enum class path_link : std::uint8_t { infiniband = 0, ethernet = 1 };

/// Static rate of a path or an address vector: 0 is the port's rate, else ib_rate + 5 if bit (that
/// value) of QUERY_DEV_CAP's rate support is set. Sources: MT25408 PRM, max_stat_rate;
/// hw/mlx4/ah.c.
inline constexpr unsigned static_rate_offset = 5;

/// Bits of opt_param_mask: which optional fields a state transition takes from the mailbox.
/// Source: include/linux/mlx4/qp.h (enum mlx4_qp_optpar).
namespace qp_optpar {
inline constexpr std::uint32_t alternate_path = 1u << 0;
inline constexpr std::uint32_t rre = 1u << 1;
inline constexpr std::uint32_t rae = 1u << 2;
inline constexpr std::uint32_t rwe = 1u << 3;
inline constexpr std::uint32_t pkey_index = 1u << 4;
inline constexpr std::uint32_t qkey = 1u << 5;
inline constexpr std::uint32_t min_rnr_nak = 1u << 6;
inline constexpr std::uint32_t primary_path = 1u << 7;
inline constexpr std::uint32_t sra_max = 1u << 8;
inline constexpr std::uint32_t rra_max = 1u << 9;
inline constexpr std::uint32_t pm_state = 1u << 10;
inline constexpr std::uint32_t retry_count = 1u << 12;
inline constexpr std::uint32_t rnr_retry = 1u << 13;
inline constexpr std::uint32_t ack_timeout = 1u << 14;
inline constexpr std::uint32_t sched_queue = 1u << 16;
inline constexpr std::uint32_t counter_index = 1u << 20;
inline constexpr std::uint32_t vlan_stripping = 1u << 21;
}  // namespace qp_optpar

/// The rows of an address path that begins at byte Base of its table: the primary and the alternate
/// path of a context are two uses of it (`ctx.set<&primary_path::rlid>(7)`).
/// Sources: include/linux/mlx4/qp.h (struct mlx4_qp_path and the flags below it), hw/mlx4/qp.c
/// (_mlx4_set_path); MT25408 PRM, address path. They differ in two places, where Linux (which
/// drives ConnectX-2 and -3) stands here: counter_index and vlan_index are bytes 4 and 0x21, the
/// PRM of 2007 has them in the word at 0x24.
template <unsigned Base>
struct address_path_at {
  as<bool>      force_loopback     {Base + 0x00, 31, 31, "force_loopback"};
  // customer VLAN in QP
  as<bool>      cv                 {Base + 0x00, 30, 30, "cv"};
  // service VLAN in QP
  as<bool>      sv                 {Base + 0x00, 29, 29, "sv"};
  as<bool>      hide_cqe_vlan      {Base + 0x00, 26, 26, "hide_cqe_vlan"};
  as<bool>      src_check_mc_lb    {Base + 0x00, 25, 25, "src_check_mc_lb"};
  as<bool>      src_check_uc_lb    {Base + 0x00, 24, 24, "src_check_uc_lb"};
  // compare by counter index
  as<bool>      src_check_counter  {Base + 0x00, 23, 23, "src_check_counter"};
  as<bool>      tx_block_tagged    {Base + 0x00, 22, 22, "tx_block_tagged"};
  as<bool>      tx_block_prio      {Base + 0x00, 21, 21, "tx_block_prio_tagged"};
  as<bool>      tx_block_untagged  {Base + 0x00, 20, 20, "tx_block_untagged"};
  as<bool>      rx_block_tagged    {Base + 0x00, 18, 18, "rx_block_tagged"};
  as<bool>      rx_block_prio      {Base + 0x00, 17, 17, "rx_block_prio_tagged"};
  as<bool>      rx_block_untagged  {Base + 0x00, 16, 16, "rx_block_untagged"};
  as<bool>      disable_pkey_check {Base + 0x00, 14, 14, "disable_pkey_check"};  // SR-IOV proxy QPs
  bits          pkey_index         {Base + 0x00,  6,  0, "pkey_index"};
  bits          counter_index      {Base + 0x04, 31, 24, "counter_index"};
  // packets carry a GRH
  as<bool>      grh                {Base + 0x04, 23, 23, "grh"};
  // IB: path bits; RoCE: MAC index
  bits          my_lid_smac_idx    {Base + 0x04, 22, 16, "my_lid_smac_idx"};
  bits          rlid               {Base + 0x04, 15,  0, "rlid"};
  // 4.096 us * 2^n; 0: off
  bits          ack_timeout        {Base + 0x08, 31, 27, "ack_timeout"};
  as<path_link> link_type          {Base + 0x08, 26, 24, "link_type"};
  bits          mgid_index         {Base + 0x08, 22, 16, "mgid_index"};
  bits          static_rate        {Base + 0x08, 11,  8, "static_rate"};
  bits          hop_limit          {Base + 0x08,  7,  0, "hop_limit"};
  bits          tclass             {Base + 0x0c, 27, 20, "tclass"};
  bits          flow_label         {Base + 0x0c, 19,  0, "flow_label"};
  raw<16>       rgid               {Base + 0x10, "rgid"};
  // see sched_queue_ib
  bits          sched_queue        {Base + 0x20, 31, 24, "sched_queue"};
  bits          vlan_index         {Base + 0x20, 22, 16, "vlan_index"};
  as<bool>      no_force_smac      {Base + 0x20, 15, 15, "no_force_smac"};       // Linux, QP1 on Ethernet: "don't fsm"
  // force Ethernet user priority
  as<bool>      feup               {Base + 0x20, 14, 14, "feup"};
  as<bool>      fsm                {Base + 0x20, 13, 13, "fsm"};                 // force source MAC
  // force source IP (PRM only)
  as<bool>      fsip               {Base + 0x20, 12, 12, "fsip"};
  as<bool>      fvl                {Base + 0x20, 11, 11, "fvl"};                 // force VLAN
  as<bool>      spoof_protection   {Base + 0x20,  8,  8, "spoof_protection"};    // PRM only
  // enforce VLAN on receive
  as<bool>      fvl_rx             {Base + 0x20,  0,  0, "fvl_rx"};
  bits          dmac               {Base + 0x24, 47,  0, "dmac"};
};

/// An address path by itself.
struct address_path : address_path_at<0> {
  static constexpr std::size_t bytes = 0x2c;
};
/// The two paths of a context: their fields' names (`&primary_path::rlid`).
using primary_path = address_path_at<0x18>;
using alternate_path = address_path_at<0x44>;

/// A sched_queue byte: bit 7 set but for QP0, bit 6 the port (0: port 1), bits 5:2 the SL on
/// InfiniBand; on Ethernet bits 5:3 the priority; bits 1:0 set. Sources: hw/mlx4/qp.c
/// (_mlx4_set_path, to_rdma_ah_attr, MLX4_IB_DEFAULT_SCHED_QUEUE); what bits 7, 1 and 0 mean no
/// source says.
constexpr std::uint8_t sched_queue_ib(unsigned port, unsigned sl) {
  return static_cast<std::uint8_t>(0x83u | (port - 1) << 6 | (sl & 0xf) << 2);
}
constexpr std::uint8_t sched_queue_ethernet(unsigned port, unsigned priority) {
  return static_cast<std::uint8_t>(0x83u | (port - 1) << 6 | (priority & 7) << 3);
}
constexpr std::uint8_t sched_queue_qp0(unsigned port) { return static_cast<std::uint8_t>(0x3fu | (port - 1) << 6); }
constexpr unsigned sched_queue_port(unsigned sched_queue) { return (sched_queue >> 6 & 1) + 1; }
constexpr unsigned sched_queue_sl(unsigned sched_queue) { return sched_queue >> 2 & 0xf; }
constexpr unsigned sched_queue_priority(unsigned sched_queue) { return sched_queue >> 3 & 7; }

/// The queue pair context. "query" rows are what QUERY_QP reports.
/// Sources: include/linux/mlx4/qp.h (struct mlx4_qp_context), hw/mlx4/qp.c (__mlx4_ib_modify_qp),
/// mlx4/en_resources.c, mlx4/qp.c (mlx4_update_qp); MT25408 PRM, QP/EE context. Linux names SRE,
/// SWE and SAE bits 15:13 of params1; it never sets them on this hardware, and the same bits hold
/// rnr_retry (both sources): they are left over from the generation before. The PRM's Fibre Channel
/// fields (0xd0..0xdf) are left out: reserved here.
struct qpc : primary_path, alternate_path {
  static constexpr std::size_t bytes = 0xf8;
  as<qp_state>       state             {0x00, 31, 28, "state"};
  as<qp_service>     service           {0x00, 19, 16, "service"};
  // an RSS indirection QP: see rss_context
  as<bool>           rss               {0x00, 13, 13, "rss"};
  as<path_migration> pm_state          {0x00, 12, 11, "pm_state"};
  bits               pd                {0x04, 23,  0, "pd"};
  as<ib_mtu>         mtu               {0x08, 31, 29, "mtu"};
  bits               msg_max           {0x08, 28, 24, "msg_max"};            // log2
  // Linux: set where there is no receive queue
  as<bool>           no_rq             {0x08, 23, 23, "no_rq"};
  bits               log_rq_size       {0x08, 22, 19, "log_rq_size"};        // WQEs
  bits               log_rq_stride     {0x08, 18, 16, "log_rq_stride"};      // 16 << n bytes
  as<bool>           sq_no_prefetch    {0x08, 15, 15, "sq_no_prefetch"};
  bits               log_sq_size       {0x08, 14, 11, "log_sq_size"};
  // 16 << n bytes, n >= 2
  bits               log_sq_stride     {0x08, 10,  8, "log_sq_stride"};
  as<roce_mode>      roce              {0x08,  7,  6, "roce_mode"};
  // this QP may use the reserved L_Key
  as<bool>           reserved_lkey     {0x08,  4,  4, "reserved_lkey"};
  bits               usr_page          {0x0c, 23,  0, "usr_page"};
  bits               local_qpn         {0x10, 23,  0, "local_qpn"};
  bits               remote_qpn        {0x14, 23,  0, "remote_qpn"};
  // 0x18 the primary path, 0x44 the alternate path
  // log2 packets between ACK requests
  bits               ack_req_freq      {0x70, 31, 28, "ack_req_freq"};
  // log2 reads and atomics outstanding
  bits               sra_max           {0x70, 23, 21, "sra_max"};
  bits               retry_count       {0x70, 18, 16, "retry_count"};
  bits               rnr_retry         {0x70, 15, 13, "rnr_retry"};          // 7: for ever
  // fast registration enabled
  as<bool>           fre               {0x70, 11, 11, "fre"};
  bits               cur_rnr_retry     {0x70, 10,  8, "cur_rnr_retry"};      // query
  bits               cur_retry_count   {0x70,  7,  5, "cur_retry_count"};    // query
  bits               next_send_psn     {0x78, 23,  0, "next_send_psn"};
  bits               cqn_send          {0x7c, 23,  0, "cqn_send"};
  // UDP source port of RoCE v2
  bits               roce_entropy      {0x80, 31, 16, "roce_entropy"};
  bits               last_acked_psn    {0x88, 23,  0, "last_acked_psn"};     // query
  bits               ssn               {0x8c, 23,  0, "ssn"};                // query
  bits               physical_function {0x90, 31, 24, "physical_function"};  // PRM only
  // log2 reads and atomics as responder
  bits               rra_max           {0x90, 23, 21, "rra_max"};
  as<bool>           rre               {0x90, 15, 15, "rre"};                // remote read enabled
  as<bool>           rwe               {0x90, 14, 14, "rwe"};                // remote write enabled
  // remote atomics enabled
  as<bool>           rae               {0x90, 13, 13, "rae"};
  // of the first WQE, 64-byte units
  bits               page_offset       {0x90, 11,  6, "page_offset"};
  // ACKs carry no credits: set with an SRQ
  as<bool>           ric               {0x90,  4,  4, "ric"};
  // Linux: port remap (bonding)
  as<bool>           fpp               {0x90,  3,  3, "fpp"};
  bits               min_rnr_nak       {0x94, 28, 24, "min_rnr_nak"};        // timer code
  bits               next_rcv_psn      {0x94, 23,  0, "next_rcv_psn"};
  bits               xrcd              {0x98, 15,  0, "xrcd"};
  bits               cqn_recv          {0x9c, 23,  0, "cqn_recv"};
  addr               db_rec_addr       {0xa0, 63,  2, "db_rec_addr"};
  bits               qkey              {0xa8, 31,  0, "qkey"};
  // Linux: 7, VXLAN and plain
  bits               rx_tunnel_mode    {0xac, 30, 28, "rx_tunnel_mode"};
  as<bool>           srq               {0xac, 24, 24, "srq"};                // srqn is valid
  bits               srqn              {0xac, 23,  0, "srqn"};
  // query: the responder's
  bits               msn               {0xb0, 23,  0, "msn"};
  bits               rq_wqe_counter    {0xb4, 31, 16, "rq_wqe_counter"};     // query
  bits               sq_wqe_counter    {0xb4, 15,  0, "sq_wqe_counter"};     // query
  bits               rate_limit_unit   {0xbc, 31, 30, "rate_limit_unit"};
  bits               rate_limit        {0xbc, 29, 16, "rate_limit"};
  bits               qos_vport         {0xbc,  7,  0, "qos_vport"};
  as<bool>           mkey_remap        {0xc0, 31, 31, "mkey_remap"};         // PRM only
  as<bool>           vsd               {0xc0, 30, 30, "vsd"};                // VLAN strip disable
  as<bool>           scatter_fcs       {0xc0, 29, 29, "scatter_fcs"};
  // PRM only: reliable multicast
  bits               rmc_mode          {0xc0, 28, 27, "rmc_mode"};
  as<bool>           inline_scatter    {0xc0, 25, 25, "inline_scatter"};
  as<bool>           header_separation {0xc0, 24, 24, "header_separation"};  // PRM only
  bits               rmc_parent_qpn    {0xc0, 23,  0, "rmc_parent_qpn"};     // PRM only
  bits               num_rmc_peers     {0xc4, 31, 24, "num_rmc_peers"};
  bits               base_mkey         {0xc4, 23,  0, "base_mkey"};
  bits               log_page_size     {0xc8, 29, 24, "log_page_size"};      // log2 - 12
  // offset in ICM's MTT area
  addr               mtt_base          {0xc8, 39,  3, "mtt_base"};
};
static_assert(sizeof(rows<address_path>) == rows<address_path>::count * sizeof(bits));

/// The mailbox of the QP commands (modify in, QUERY_QP out): the mask, and from byte 8 the context.
/// Source: drivers/net/ethernet/mellanox/mlx4/qp.c (__mlx4_qp_modify, mlx4_qp_query).
struct qp_mailbox {
  static constexpr std::size_t bytes = 0x100;
  bits      opt_param_mask {0x00, 31,  0, "opt_param_mask"};
  raw<0xf8> context        {0x08, "context"};
};

/// The mailbox of UPDATE_QP: masks of what changes, and from byte 0x20 a context. Its length in
/// Linux is 0x2e8 (the rest is zero). Source: include/linux/mlx4/qp.h (struct
/// mlx4_update_qp_context and the masks).
struct update_qp_mailbox {
  static constexpr std::size_t bytes = 0x118;
  bits      qp_mask             {0x00, 63,  0, "qp_mask"};
  bits      primary_path_mask   {0x08, 63,  0, "primary_path_mask"};
  bits      alternate_path_mask {0x10, 63,  0, "alternate_path_mask"};
  raw<0xf8> context             {0x20, "context"};
};

/// Bits of update_qp_mailbox's qp_mask. Source: as above (MLX4_UPD_QP_MASK_*).
namespace update_qp {
inline constexpr std::uint64_t pm_state = 1ull << 32;
inline constexpr std::uint64_t vsd = 1ull << 33;
inline constexpr std::uint64_t qos_vport = 1ull << 34;
inline constexpr std::uint64_t rate_limit = 1ull << 35;
}  // namespace update_qp

/// Bits of its path masks. Source: as above (MLX4_UPD_QP_PATH_MASK_*).
namespace update_path {
inline constexpr std::uint64_t pkey_index = 1ull << 32;
inline constexpr std::uint64_t fsm = 1ull << 33;
inline constexpr std::uint64_t mac_index = 1ull << 34;
inline constexpr std::uint64_t fvl = 1ull << 35;
inline constexpr std::uint64_t cv = 1ull << 36;
inline constexpr std::uint64_t vlan_index = 1ull << 37;
inline constexpr std::uint64_t hide_cqe_vlan = 1ull << 38;
inline constexpr std::uint64_t tx_block_untagged = 1ull << 39;
inline constexpr std::uint64_t tx_block_prio = 1ull << 40;
inline constexpr std::uint64_t tx_block_tagged = 1ull << 41;
inline constexpr std::uint64_t rx_block_untagged = 1ull << 42;
inline constexpr std::uint64_t rx_block_prio = 1ull << 43;
inline constexpr std::uint64_t rx_block_tagged = 1ull << 44;
inline constexpr std::uint64_t feup = 1ull << 45;
inline constexpr std::uint64_t sched_queue = 1ull << 46;
inline constexpr std::uint64_t counter_index = 1ull << 47;
inline constexpr std::uint64_t fvl_rx = 1ull << 48;
inline constexpr std::uint64_t src_check_uc_lb = 1ull << 50;
inline constexpr std::uint64_t src_check_mc_lb = 1ull << 51;
inline constexpr std::uint64_t sv = 1ull << 54;
}  // namespace update_path

/// How an RSS QP hashes. Source: include/linux/mlx4/qp.h (MLX4_RSS_*).
enum class rss_hash : std::uint8_t { exclusive_or = 0, toeplitz = 1 };

/// RSS parameters: in the context of a QP with the rss bit they stand from byte rss_context_offset
/// on, over the end of the primary path, the alternate path and params1.
/// Source: include/linux/mlx4/qp.h (struct mlx4_rss_context, MLX4_RSS_OFFSET_IN_QPC_PRI_PATH).
struct rss_context {
  static constexpr std::size_t bytes = 0x38;
  // log2 of the QPs that share the load
  bits         log_size      {0x00, 31, 24, "log_size"};
  bits         base_qpn      {0x00, 23,  0, "base_qpn"};
  bits         default_qpn   {0x04, 23,  0, "default_qpn"};
  as<rss_hash> hash          {0x08, 15,  8, "hash"};
  bits         inner_headers {0x08,  7,  6, "inner_headers"};  // 0 outer, 2 inner, 3 inner, IP only
  as<bool>     ipv4          {0x08,  5,  5, "ipv4"};
  as<bool>     tcp_ipv4      {0x08,  4,  4, "tcp_ipv4"};
  as<bool>     ipv6          {0x08,  3,  3, "ipv6"};
  as<bool>     tcp_ipv6      {0x08,  2,  2, "tcp_ipv6"};
  as<bool>     udp_ipv4      {0x08,  1,  1, "udp_ipv4"};
  as<bool>     udp_ipv6      {0x08,  0,  0, "udp_ipv6"};
  raw<40>      key           {0x0c, "key"};
  bits         base_qpn_udp  {0x34, 23,  0, "base_qpn_udp"};
};
inline constexpr std::size_t rss_context_offset = 0x3c;

/// In the input modifier of RTS2SQD_QP: the device reports by an event that the queue has drained.
/// Source: Linux 6.1 mlx4/qp.c (__mlx4_qp_modify, sqd_event).
inline constexpr std::uint32_t rts2sqd_drained_event = 1u << 31;

/// One path of a context as an object, and back.
template <class Path>
constexpr image<address_path> path_of(const image<qpc>& context) {
  return image<address_path>::from_bytes(context.data() + Path{}.force_loopback.offset);
}
template <class Path>
constexpr void set_path(image<qpc>& context, const image<address_path>& path) {
  for (std::size_t i = 0; i < address_path::bytes; ++i)
    context.data()[Path{}.force_loopback.offset + i] = path.data()[i];
}

/// The context in a mailbox.
constexpr image<qpc> context_of(const image<qp_mailbox>& mailbox) {
  return image<qpc>::from_bytes(mailbox.bytes_of<&qp_mailbox::context>());
}

static_assert(primary_path{}.rgid.offset == 0x28 && alternate_path{}.rgid.offset == 0x54);
static_assert(alternate_path{}.force_loopback.offset == 0x18 + address_path::bytes);
static_assert(alternate_path{}.force_loopback.offset + address_path::bytes == 0x70);
static_assert(qp_mailbox{}.context.offset + qpc::bytes == qp_mailbox::bytes);
static_assert(qpc{}.db_rec_addr.offset == 0xa0 && qpc{}.mtt_base.offset == 0xc8);

}  // namespace freehca::layouts

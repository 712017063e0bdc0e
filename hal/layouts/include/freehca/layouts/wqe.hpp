// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work queue entries: the segments that a send, receive or shared receive WQE is made of.
//
// A send WQE is a control segment and then, by opcode and service:
//   RC, UC, XRC  SEND*            data...
//                RDMA_*           remote address, data...
//                ATOMIC_*         remote address, atomic (or masked atomic), data
//                BIND_MW          bind
//                FAST_REGISTER    fast registration
//                LOCAL_INVALIDATE local invalidate
//   UD           SEND*            datagram, data...
//                LSO              datagram, LSO header (padded to 16 bytes), data...
//   MLX          SEND (wqe_ctrl_mlx) the headers inline, data..., 4 bytes inline for the ICRC
//   MLX, raw Ethernet  (wqe_ctrl_ethernet)
//                SEND             data... or inline
//                LSO              LSO header (padded to 16 bytes), data...
// A receive WQE is data segments alone; a shared receive WQE begins with wqe_srq_next. A list
// shorter than the queue's stride ends with a data segment of byte count 0 and L_Key invalid_lkey.
//
// Rules (Linux hw/mlx4/qp.c: stamp_send_wqe, build_mlx_header, _mlx4_ib_post_send; libmlx4 qp.c):
// - A send queue entry has at least 64 bytes (log_sq_stride >= 2); a WQE is `ds` units of 16 bytes
//   and may fill several 64-byte basic blocks.
// - Ownership: the owner bit of WQE number n in a queue of 2^k entries is bit k of n, so that it
//   flips each time round; the queue begins with every owner bit set (all entries the software's)
//   and ds = stride / 16. owner and opcode are stored last, behind a barrier: the device may fetch
//   the WQE before the doorbell.
// - Stamping: the device prefetches. In a WQE that it may not take yet, the first word of every
//   64-byte block but the first holds wqe_stamp; filling such a block, that word (a byte count)
//   goes last, behind a barrier. Blocks ahead of the producer are stamped before they can be
//   fetched (`sq spare` entries: 2 KiB and one WQE in Linux). With sq_no_prefetch in the QP context
//   this is not needed.
// - An inline segment may not cross a 64-byte boundary of the queue: longer inline data is several
//   segments.
// - Memory management (bind, fast registration, local invalidate) needs strong_order.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// What a send WQE does; a send completion repeats it. Sources: rdma-core providers/mlx4/mlx4dv.h,
/// include/linux/mlx4/device.h (MLX4_OPCODE_*).
enum class wqe_opcode : std::uint8_t {
  nop = 0x00,
  send_inval = 0x01,
  rdma_write = 0x08,
  rdma_write_imm = 0x09,
  send = 0x0a,
  send_imm = 0x0b,
  lso = 0x0e,
  rdma_read = 0x10,
  atomic_cs = 0x11,
  atomic_fa = 0x12,
  masked_atomic_cs = 0x14,
  masked_atomic_fa = 0x15,
  bind_mw = 0x18,
  fast_register = 0x19,
  local_invalidate = 0x1b,
  config_cmd = 0x1f,
};

/// The name as the driver's header spells it; "unknown opcode" for a value that has none.
constexpr const char* name_of(wqe_opcode o) {
  switch (o) {
    case wqe_opcode::nop: return "NOP";
    case wqe_opcode::send_inval: return "SEND_INVAL";
    case wqe_opcode::rdma_write: return "RDMA_WRITE";
    case wqe_opcode::rdma_write_imm: return "RDMA_WRITE_IMM";
    case wqe_opcode::send: return "SEND";
    case wqe_opcode::send_imm: return "SEND_IMM";
    case wqe_opcode::lso: return "LSO";
    case wqe_opcode::rdma_read: return "RDMA_READ";
    case wqe_opcode::atomic_cs: return "ATOMIC_CS";
    case wqe_opcode::atomic_fa: return "ATOMIC_FA";
    case wqe_opcode::masked_atomic_cs: return "MASKED_ATOMIC_CS";
    case wqe_opcode::masked_atomic_fa: return "MASKED_ATOMIC_FA";
    case wqe_opcode::bind_mw: return "BIND_MW";
    case wqe_opcode::fast_register: return "FMR";
    case wqe_opcode::local_invalidate: return "LOCAL_INVAL";
    case wqe_opcode::config_cmd: return "CONFIG_CMD";
  }
  return "unknown opcode";
}

/// The field cq_update: ask for a completion or not. Source: MT25408 PRM, send control segment, c.
enum class wqe_completion : std::uint8_t { none = 0, always = 3 };

inline constexpr std::size_t wqe_unit = 16;         ///< ds counts these
inline constexpr std::size_t wqe_basic_block = 64;  ///< prefetch, stamping, inline alignment
inline constexpr std::uint32_t wqe_stamp = 0xffffffff;
inline constexpr std::uint32_t invalid_lkey = 0x100;  ///< Source: include/linux/mlx4/qp.h

/// The rows that every send control segment has.
/// Sources: include/linux/mlx4/qp.h (struct mlx4_wqe_ctrl_seg, MLX4_WQE_CTRL_*), mlx4/en_tx.c;
/// MT25408 PRM, send control segment. big_header: Linux sets it when an LSO header does not fit the
/// first block (hw/mlx4/qp.c) or always with LSO (mlx4_en); no source names it.
struct wqe_ctrl_rows {
  as<bool>           owner          {0x00, 31, 31, "owner"};
  as<bool>           nec            {0x00, 29, 29, "nec"};          // no error completion
  as<bool>           inner_ip_csum  {0x00, 28, 28, "inner_ip_csum"};
  as<bool>           inner_l4_csum  {0x00, 27, 27, "inner_l4_csum"};
  bits               wqe_index      {0x00, 23,  8, "wqe_index"};    // BlueFlame only
  as<bool>           big_header     {0x00,  6,  6, "big_header"};
  as<wqe_opcode>     opcode         {0x00,  4,  0, "opcode"};
  as<bool>           fence          {0x04,  6,  6, "fence"};
  // 16-byte units, control segment included
  bits               ds             {0x04,  5,  0, "ds"};
  bits               remote_srqn    {0x08, 31,  8, "remote_srqn"};  // XRC
  as<bool>           strong_order   {0x08,  7,  7, "strong_order"};
  as<bool>           l4_csum        {0x08,  5,  5, "l4_csum"};
  as<bool>           ip_csum        {0x08,  4,  4, "ip_csum"};
  as<wqe_completion> cq_update      {0x08,  3,  2, "cq_update"};
  as<bool>           solicited      {0x08,  1,  1, "solicited"};
  as<bool>           force_loopback {0x08,  0,  0, "force_loopback"};
  bits               immediate      {0x0c, 31,  0, "immediate"};    // or the R_Key to invalidate
};

/// Control segment of a WQE that a doorbell starts.
struct wqe_ctrl : wqe_ctrl_rows {
  static constexpr std::size_t bytes = 0x10;
  bits     vlan_tag  {0x04, 31, 16, "vlan_tag"};  // Ethernet
  as<bool> ins_svlan {0x04, 15, 15, "ins_svlan"};
  as<bool> ins_cvlan {0x04, 14, 14, "ins_cvlan"};
};

/// Control segment of a WQE that is written to a BlueFlame register: the QP's number where a VLAN
/// tag else stands, and the WQE's index. Sources: rdma-core providers/mlx4/qp.c (mlx4_post_send),
/// mlx4/en_tx.c.
struct wqe_ctrl_blueflame : wqe_ctrl_rows {
  static constexpr std::size_t bytes = 0x10;
  bits qpn {0x04, 31,  8, "qpn"};
};

/// Control segment on raw Ethernet, where a doorbell starts the WQE. Sources: mlx4/en_tx.c
/// (mlx4_en_xmit), rdma-core providers/mlx4/qp.c (IBV_QPT_RAW_PACKET). dmac: the frame's
/// destination, for loopback between queue pairs; 0: none.
struct wqe_ctrl_ethernet {
  static constexpr std::size_t bytes = 0x10;
  as<bool>           owner          {0x00, 31, 31, "owner"};
  as<bool>           nec            {0x00, 29, 29, "nec"};
  as<bool>           inner_ip_csum  {0x00, 28, 28, "inner_ip_csum"};
  as<bool>           inner_l4_csum  {0x00, 27, 27, "inner_l4_csum"};
  as<bool>           big_header     {0x00,  6,  6, "big_header"};
  as<wqe_opcode>     opcode         {0x00,  4,  0, "opcode"};
  bits               vlan_tag       {0x04, 31, 16, "vlan_tag"};
  as<bool>           ins_svlan      {0x04, 15, 15, "ins_svlan"};
  as<bool>           ins_cvlan      {0x04, 14, 14, "ins_cvlan"};
  as<bool>           fence          {0x04,  6,  6, "fence"};
  bits               ds             {0x04,  5,  0, "ds"};
  bits               dmac_47_32     {0x08, 31, 16, "dmac_47_32"};
  as<bool>           strong_order   {0x08,  7,  7, "strong_order"};
  as<bool>           l4_csum        {0x08,  5,  5, "l4_csum"};
  as<bool>           ip_csum        {0x08,  4,  4, "ip_csum"};
  as<wqe_completion> cq_update      {0x08,  3,  2, "cq_update"};
  as<bool>           no_icrc        {0x08,  1,  1, "no_icrc"};  // `solicited` elsewhere
  as<bool>           force_loopback {0x08,  0,  0, "force_loopback"};
  bits               dmac_31_0      {0x0c, 31,  0, "dmac_31_0"};
};

/// Control segment of an MLX QP on InfiniBand, which sends headers that software made (QP0, QP1).
/// Sources: include/linux/mlx4/qp.h (struct mlx4_wqe_mlx_seg), hw/mlx4/qp.c (build_mlx_header);
/// MT25408 PRM, MLX control segment: icrc 0 replaces the packet's last word by the ICRC, 1 leaves
/// it. On Ethernet it is a wqe_ctrl_ethernet whose no_icrc is clear and whose vlan_tag has the
/// priority in its top bits.
struct wqe_ctrl_mlx {
  static constexpr std::size_t bytes = 0x10;
  as<bool>           owner          {0x00, 31, 31, "owner"};
  as<wqe_opcode>     opcode         {0x00,  4,  0, "opcode"};
  bits               sched_prio     {0x04, 31, 16, "sched_prio"};
  bits               ds             {0x04,  5,  0, "ds"};
  as<bool>           vl15           {0x08, 17, 17, "vl15"};
  as<bool>           slr            {0x08, 16, 16, "slr"};   // source LID from the headers
  bits               static_rate    {0x08, 15, 12, "static_rate"};
  bits               sl             {0x08, 11,  8, "sl"};
  as<bool>           icrc           {0x08,  4,  4, "icrc"};
  as<wqe_completion> cq_update      {0x08,  3,  2, "cq_update"};
  as<bool>           force_loopback {0x08,  0,  0, "force_loopback"};
  bits               rlid           {0x0c, 31, 16, "rlid"};  // must match the headers
};

/// The rows of a UD address vector. With grh clear the last word of dgid must be 2 (MT25408 PRM;
/// Linux writes 0). Sources: include/linux/mlx4/device.h (struct mlx4_av, mlx4_eth_av),
/// hw/mlx4/ah.c; rdma-core providers/mlx4/verbs.c (mlx4_create_ah: vlan_present); MT25408 PRM, UD
/// address vector. On Ethernet the priority is the top three bits of
/// sl (hw/mlx4/ah.c), and a multicast rlid (0xc000) goes with a multicast GID.
struct address_vector_rows {
  as<bool> force_loopback  {0x00, 31, 31, "force_loopback"};
  as<bool> vlan_present    {0x00, 29, 29, "vlan_present"};  // RoCE; libmlx4 only
  bits     port            {0x00, 25, 24, "port"};
  bits     pd              {0x00, 23,  0, "pd"};
  as<bool> grh             {0x04, 23, 23, "grh"};
  bits     my_lid_smac_idx {0x04, 22, 16, "my_lid_smac_idx"};
  bits     rlid            {0x04, 15,  0, "rlid"};
  bits     mgid_index      {0x08, 22, 16, "mgid_index"};
  bits     static_rate     {0x08, 11,  8, "static_rate"};
  bits     hop_limit       {0x08,  7,  0, "hop_limit"};
  bits     sl              {0x0c, 31, 28, "sl"};
  bits     tclass          {0x0c, 27, 20, "tclass"};
  bits     flow_label      {0x0c, 19,  0, "flow_label"};
  raw<16>  dgid            {0x10, "dgid"};
};
struct address_vector : address_vector_rows {
  static constexpr std::size_t bytes = 0x20;
};

/// The sl of an address vector on Ethernet, from the priority of a frame (hw/mlx4/ah.c).
constexpr std::uint8_t sl_ethernet(unsigned priority) {
  return static_cast<std::uint8_t>((priority & 7) << 1);
}

/// Datagram segment: an address vector and whom it reaches there. vlan: 0xffff for none in Linux,
/// undefined in libmlx4 unless vlan_present.
/// Sources: include/linux/mlx4/qp.h (struct mlx4_wqe_datagram_seg), rdma-core
/// providers/mlx4/mlx4dv.h.
struct wqe_datagram : address_vector_rows {
  static constexpr std::size_t bytes = 0x30;
  bits dqpn {0x20, 23,  0, "dqpn"};
  bits qkey {0x24, 31,  0, "qkey"};  // bit 31: the QP context's instead
  bits vlan {0x28, 31, 16, "vlan"};
  bits dmac {0x28, 47,  0, "dmac"};
};

/// Sources of the segments that follow: include/linux/mlx4/qp.h (struct mlx4_wqe_*_seg),
/// hw/mlx4/qp.c (set_*_seg), MT25408 PRM.
struct wqe_remote_address {
  static constexpr std::size_t bytes = 0x10;
  bits remote_address {0x00, 63,  0, "remote_address"};
  bits rkey           {0x08, 31,  0, "rkey"};
};

/// Compare and swap: swap and compare values. Fetch and add: the addend, and 0. Masked fetch and
/// add: the addend, and the mask of field boundaries.
struct wqe_atomic {
  static constexpr std::size_t bytes = 0x10;
  bits swap_add {0x00, 63,  0, "swap_add"};
  bits compare  {0x08, 63,  0, "compare"};
};

/// Masked compare and swap.
struct wqe_masked_atomic {
  static constexpr std::size_t bytes = 0x20;
  bits swap_add      {0x00, 63,  0, "swap_add"};
  bits compare       {0x08, 63,  0, "compare"};
  bits swap_add_mask {0x10, 63,  0, "swap_add_mask"};
  bits compare_mask  {0x18, 63,  0, "compare_mask"};
};

/// One scatter or gather entry. Sources disagree on an empty one in a send: libmlx4 writes byte
/// count 0x80000000 (an inline segment of no bytes), Linux's own post writes 0.
struct wqe_data {
  static constexpr std::size_t bytes = 0x10;
  as<bool> inline_data {0x00, 31, 31, "inline"};  // 0 here; 1: a wqe_inline
  bits     byte_count  {0x00, 30,  0, "byte_count"};
  bits     lkey        {0x04, 31,  0, "lkey"};
  bits     address     {0x08, 63,  0, "address"};
};

/// Head of an inline segment; byte_count bytes follow it, and the next segment is 16-byte aligned.
struct wqe_inline {
  static constexpr std::size_t bytes = 0x04;
  as<bool> inline_data {0x00, 31, 31, "inline"};
  bits     byte_count  {0x00,  9,  0, "byte_count"};
};

/// Head of an LSO segment: the header's bytes follow it.
struct wqe_lso {
  static constexpr std::size_t bytes = 0x04;
  bits mss         {0x00, 31, 16, "mss"};
  bits header_size {0x00, 15,  0, "header_size"};
};

/// Fast registration. The page list holds MTT entries (bit 0: present), 64-byte aligned. Sources:
/// as above, and hw/mlx4/mr.c. Sources disagree: the PRM of 2007 has the list before the key and a
/// page size in units of 4 KiB; Linux, which works, has this order and log2 of the page's bytes.
struct wqe_fast_register {
  static constexpr std::size_t bytes = 0x30;
  as<bool> atomic            {0x00, 31, 31, "atomic"};
  as<bool> remote_write      {0x00, 30, 30, "remote_write"};
  as<bool> remote_read       {0x00, 29, 29, "remote_read"};
  as<bool> local_write       {0x00, 28, 28, "local_write"};
  as<bool> local_read        {0x00, 27, 27, "local_read"};
  bits     mem_key           {0x04, 31,  0, "mem_key"};
  addr     page_list         {0x08, 63,  6, "page_list"};
  bits     start_address     {0x10, 63,  0, "start_address"};
  bits     length            {0x18, 63,  0, "length"};
  bits     first_byte_offset {0x20, 31,  0, "first_byte_offset"};
  bits     log_page_size     {0x24,  4,  0, "log_page_size"};
};

struct wqe_local_invalidate {
  static constexpr std::size_t bytes = 0x20;
  bits mem_key {0x08, 31,  0, "mem_key"};  // the PRM of 2007: 24 bits
};

struct wqe_bind {
  static constexpr std::size_t bytes = 0x20;
  as<bool> atomic       {0x00, 31, 31, "atomic"};
  as<bool> remote_write {0x00, 30, 30, "remote_write"};
  as<bool> remote_read  {0x00, 29, 29, "remote_read"};
  as<bool> type_2       {0x04, 31, 31, "type_2"};
  as<bool> zero_based   {0x04, 30, 30, "zero_based"};
  bits     new_rkey     {0x08, 31,  0, "new_rkey"};
  bits     lkey         {0x0c, 31,  0, "lkey"};
  bits     address      {0x10, 63,  0, "address"};
  bits     length       {0x18, 63,  0, "length"};
};

/// Head of a shared receive WQE: the index of the next free one, which the device follows.
/// Source: include/linux/mlx4/srq.h (struct mlx4_wqe_srq_next_seg).
struct wqe_srq_next {
  static constexpr std::size_t bytes = 0x10;
  bits next_wqe_index {0x00, 15,  0, "next_wqe_index"};
};

static_assert(wqe_ctrl{}.ds.offset == 4 && wqe_ctrl{}.immediate.offset == 12);
static_assert(wqe_datagram{}.dgid.offset == 16 && wqe_datagram{}.dqpn.offset == 32);
static_assert(sizeof(image<wqe_data>) == wqe_data::bytes && sizeof(image<wqe_ctrl>) == wqe_ctrl::bytes);
static_assert(wqe_fast_register::bytes % wqe_unit == 0 && wqe_bind::bytes % wqe_unit == 0);

}  // namespace freehca::layouts

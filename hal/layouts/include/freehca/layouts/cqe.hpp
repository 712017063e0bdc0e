// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion queue entries. An entry has 32 bytes; where INIT_HCA chose 64-byte entries, the 32
// bytes of this table are the second half (Linux hw/mlx4/cq.c, mlx4_ib_poll_one), the half with the
// owner byte.
//
// Ownership: entry number n of a CQ with 2^k entries is new when its owner bit equals bit k of n:
// the device flips what it writes each time round and begins with 0; software fills a fresh CQ with
// owner bit 1 (Linux fills 0xcc). The owner bit is read first, everything else behind a barrier.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::layouts {

/// The opcode field. With is_send set it is the wqe_opcode of the send; else, and for both sides in
/// the two last cases, one of these. Sources: rdma-core providers/mlx4/mlx4dv.h,
/// include/linux/mlx4/device.h. The PRM of 2007 codes errors 0x1f; real cards and all drivers use
/// 0x1e (captures: "opcode = 5e").
enum class cqe_opcode : std::uint8_t {
  recv_rdma_write_imm = 0x00,
  recv_send = 0x01,
  recv_send_imm = 0x02,
  recv_send_inval = 0x03,
  resize = 0x16,  ///< the last entry of the old buffer while a CQ is resized: no work request
  error = 0x1e,   ///< read it as cqe_error
};

/// Sources: include/linux/mlx4/cq.h (MLX4_CQE_SYNDROME_*); MT25408 PRM, completion with error,
/// lists 0x03, 0x20, 0x21, 0x23 and 0x24 too (reliable datagrams, which no driver uses).
enum class cqe_syndrome : std::uint8_t {
  local_length = 0x01,
  local_qp_op = 0x02,
  local_eec_op = 0x03,
  local_protection = 0x04,
  wr_flush = 0x05,
  mw_bind = 0x06,
  bad_response = 0x10,
  local_access = 0x11,
  remote_invalid_request = 0x12,
  remote_access = 0x13,
  remote_op = 0x14,
  transport_retry_exceeded = 0x15,
  rnr_retry_exceeded = 0x16,
  local_rdd_violation = 0x20,
  remote_invalid_rd_request = 0x21,
  remote_aborted = 0x22,
  invalid_eecn = 0x23,
  invalid_eec_state = 0x24,
};

/// Vendor syndromes that real cards gave. Source: captures ("vendor byte").
namespace vendor_syndrome {
// with local_protection, mlx4_en transmit
inline constexpr std::uint8_t protection_transmit = 0x57;
inline constexpr std::uint8_t length_requester = 0x69;         // with local_length
inline constexpr std::uint8_t qp_op_requester = 0x6f;          // with local_qp_op
inline constexpr std::uint8_t retry_exceeded = 0x81;           // with transport_retry_exceeded
inline constexpr std::uint8_t rnr_retry_exceeded = 0x87;       // with rnr_retry_exceeded
// with remote_access, at the requester
inline constexpr std::uint8_t remote_access = 0x88;
inline constexpr std::uint8_t remote_invalid_request = 0x8a;   // with remote_invalid_request
inline constexpr std::uint8_t flush_receive = 0xf9;            // with wr_flush, a receive
}  // namespace vendor_syndrome

/// The rows of an entry that all forms have.
/// Sources: include/linux/mlx4/cq.h (struct mlx4_cqe, MLX4_CQE_*), hw/mlx4/cq.c, mlx4/en_rx.c;
/// MT25408 PRM, completion queue entry. They differ on bits 31 and 28..24 of the first word: the
/// tunnel rows are Linux's (ConnectX-3 Pro); the PRM of 2007 has force loopback at bit 28.
struct cqe_rows {
  as<bool> tunnel_ip_ok   {0x00, 31, 31, "tunnel_ip_ok"};
  as<bool> svlan_present  {0x00, 30, 30, "svlan_present"};
  as<bool> cvlan_present  {0x00, 29, 29, "cvlan_present"};
  as<bool> force_loopback {0x00, 28, 28, "force_loopback"};
  as<bool> tunnel         {0x00, 27, 27, "tunnel"};
  as<bool> tunnel_csum    {0x00, 26, 26, "tunnel_csum"};
  as<bool> tunnel_ipv4    {0x00, 25, 25, "tunnel_ipv4"};
  bits     qpn            {0x00, 23,  0, "qpn"};
  bits     immediate      {0x04, 31,  0, "immediate"};    // or: R_Key invalidated; P_Key index
                                                          // (bits 6:0, GSI); RSS hash (UD,
                                                          // Ethernet)
  as<bool> grh            {0x08, 31, 31, "grh"};          // UD: a GRH; Ethernet: IPv6
  bits     my_lid_path    {0x08, 30, 24, "my_lid_path"};  // UD: path bits; Ethernet: MAC index
  bits     remote_qpn     {0x08, 23,  0, "remote_qpn"};   // UD: source QP; XRC: the SRQ's number
  bits     byte_count     {0x14, 31,  0, "byte_count"};   // reads, atomics and receives
  bits     wqe_index      {0x18, 31, 16, "wqe_index"};
  bits     checksum       {0x18, 15,  0, "checksum"};
  as<bool> owner          {0x1c,  7,  7, "owner"};
  as<bool> is_send        {0x1c,  6,  6, "is_send"};
  as<bool> inline_scatter {0x1c,  5,  5, "inline_scatter"};
  bits     opcode         {0x1c,  4,  0, "opcode"};       // wqe_opcode or cqe_opcode
};

/// The rows of the status word. Sources: include/linux/mlx4/cq.h (MLX4_CQE_STATUS_*, MLX4_CQE_LLC
/// ...), rdma-core providers/mlx4/mlx4dv.h (enum mlx4_cqe_status: the same bits of one 32-bit
/// word).
struct cqe_status_rows {
  as<bool> ip_ok           {0x10, 28, 28, "ip_ok"};
  as<bool> udp             {0x10, 27, 27, "udp"};
  as<bool> tcp             {0x10, 26, 26, "tcp"};
  as<bool> ipv4_options    {0x10, 25, 25, "ipv4_options"};
  as<bool> ipv6            {0x10, 24, 24, "ipv6"};
  as<bool> ipv4_fragment   {0x10, 23, 23, "ipv4_fragment"};
  as<bool> ipv4            {0x10, 22, 22, "ipv4"};
  bits     ipv6_extensions {0x10, 15,  8, "ipv6_extensions"};
  as<bool> bad_fcs         {0x10,  4,  4, "bad_fcs"};
  as<bool> l4_csum_ok      {0x10,  2,  2, "l4_csum_ok"};
  as<bool> snap            {0x10,  1,  1, "snap"};
  as<bool> llc             {0x10,  0,  0, "llc"};
};

/// A bit of ipv6_extensions: there is a fragment header. Source: DPDK mlx4_prm.h
/// (MLX4_CQE_STATUS_IPV6F).
inline constexpr std::uint8_t ipv6_extension_fragment = 1u << 4;

/// An entry: sends, InfiniBand receives, raw Ethernet receives.
struct cqe : cqe_rows, cqe_status_rows {
  static constexpr std::size_t bytes = 0x20;
  bits sl   {0x0c, 31, 28, "sl"};  // Ethernet: priority (31:29) and DEI
  bits vid  {0x0c, 27, 16, "vid"};
  bits slid {0x0c, 15,  0, "slid"};
};

/// An entry of a RoCE UD receive: the source MAC where slid and status else stand.
struct cqe_smac : cqe_rows {
  static constexpr std::size_t bytes = 0x20;
  bits   sl   {0x0c, 31, 28, "sl"};
  bits   vid  {0x0c, 27, 16, "vid"};
  raw<6> smac {0x0e, "smac"};
};

/// An entry of a CQ with the timestamp bit in its context: 48 bits of the device's clock instead of
/// SL, VLAN and LID. Sources: include/linux/mlx4/cq.h (struct mlx4_ts_cqe), rdma-core mlx4dv.h.
/// When the low 16 bits read 0, Linux counts the upper part one higher (mlx4/en_clock.c,
/// mlx4_en_get_cqe_ts).
struct cqe_timestamp : cqe_rows, cqe_status_rows {
  static constexpr std::size_t bytes = 0x20;
  bits timestamp_47_16 {0x0c, 31,  0, "timestamp_47_16"};
  bits timestamp_15_0  {0x1c, 23,  8, "timestamp_15_0"};
};

/// An entry whose opcode is cqe_opcode::error.
/// Source: include/linux/mlx4/cq.h (struct mlx4_err_cqe); MT25408 PRM, completion with error.
struct cqe_error {
  static constexpr std::size_t bytes = 0x20;
  bits             qpn             {0x00, 23,  0, "qpn"};
  bits             wqe_index       {0x18, 31, 16, "wqe_index"};
  bits             vendor_syndrome {0x18, 15,  8, "vendor_syndrome"};
  as<cqe_syndrome> syndrome        {0x18,  7,  0, "syndrome"};
  as<bool>         owner           {0x1c,  7,  7, "owner"};
  as<bool>         is_send         {0x1c,  6,  6, "is_send"};
  as<cqe_opcode>   opcode          {0x1c,  4,  0, "opcode"};
};

inline constexpr std::size_t cqe64_bytes = 0x40;
/// Where the 32 bytes stand in a 64-byte entry.
inline constexpr std::size_t cqe64_offset = 0x20;
inline constexpr std::size_t cqe_owner_byte = 0x1f;   ///< owner, is_send and opcode

static_assert(cqe{}.byte_count.offset == 0x14 && cqe{}.wqe_index.offset == 0x18);
static_assert(sizeof(image<cqe>) == 32 && sizeof(image<cqe_error>) == 32);

}  // namespace freehca::layouts

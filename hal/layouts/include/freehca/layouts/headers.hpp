// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// InfiniBand packet headers. On an InfiniBand link: LRH, GRH if lnh says so, BTH, extended headers,
// payload and its padding, ICRC (4 bytes), VCRC (2 bytes). RoCE v1: Ethernet header, GRH, BTH ...
// ICRC. RoCE v2: Ethernet header, IPv4 or IPv6, UDP, BTH ... ICRC (ethernet.hpp).
//
// image<T> is padded to 8 bytes in memory: on the wire a header is T::bytes bytes at data().
//
// Sources: InfiniBand Architecture Specification vol. 1, chapters 5, 7, 8 and 9 and annexes A14
// (XRC), A16 and A17 (RoCE), as read through drivers/infiniband/core/ud_header.c (bit tables),
// include/rdma/ib_pack.h, ib_hdrs.h, and drivers/infiniband/sw/rxe/rxe_hdr.h.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Link next header. Source: include/rdma/ib_pack.h (IB_LNH_*).
enum class link_next_header : std::uint8_t { raw = 0, ip_non_iba = 1, iba_local = 2, iba_global = 3 };

/// Local route header. packet_length counts 4-byte words from the LRH's first byte to the one
/// before the VCRC.
struct lrh {
  static constexpr std::size_t bytes = 8;
  bits                 virtual_lane  {0x00, 31, 28, "virtual_lane"};
  bits                 link_version  {0x00, 27, 24, "link_version"};
  bits                 service_level {0x00, 23, 20, "service_level"};
  as<link_next_header> lnh           {0x00, 17, 16, "link_next_header"};
  bits                 dlid          {0x00, 15,  0, "dlid"};
  bits                 packet_length {0x04, 26, 16, "packet_length"};
  bits                 slid          {0x04, 15,  0, "slid"};
};

/// Global route header; the same bytes as an IPv6 header. payload_length counts from the BTH to the
/// ICRC.
struct grh {
  static constexpr std::size_t bytes = 40;
  bits    ip_version     {0x00, 31, 28, "ip_version"};
  bits    traffic_class  {0x00, 27, 20, "traffic_class"};
  bits    flow_label     {0x00, 19,  0, "flow_label"};
  bits    payload_length {0x04, 31, 16, "payload_length"};
  bits    next_header    {0x04, 15,  8, "next_header"};
  bits    hop_limit      {0x04,  7,  0, "hop_limit"};
  raw<16> sgid           {0x08, "sgid"};
  raw<16> dgid           {0x18, "dgid"};
};
inline constexpr std::uint8_t grh_ip_version = 6;
inline constexpr std::uint8_t grh_next_header_bth = 0x1b;

/// Transport, the top three bits of a BTH opcode. Sources: include/rdma/ib_pack.h; XRC (0xa0) from
/// IBTA annex A14 (ib_pack.h of 6.1 does not name it).
enum class bth_transport : std::uint8_t {
  rc = 0x00,
  uc = 0x20,
  rd = 0x40,
  ud = 0x60,
  cnp = 0x80,
  xrc = 0xa0,
  /// Two of the sixty-four manufacturer specific opcodes each (IBTA vol. 1, table 38): masked
  /// atomics. No source says which hardware uses, nor with which operation: chosen.
  rc_masked = 0xc0,
  xrc_masked = 0xe0,
};

/// Operation, the low five bits of a BTH opcode. Source: include/rdma/ib_pack.h (IB_OPCODE_*).
enum class bth_operation : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_imm = 0x03,
  send_only = 0x04,
  send_only_imm = 0x05,
  rdma_write_first = 0x06,
  rdma_write_middle = 0x07,
  rdma_write_last = 0x08,
  rdma_write_last_imm = 0x09,
  rdma_write_only = 0x0a,
  rdma_write_only_imm = 0x0b,
  rdma_read_request = 0x0c,
  rdma_read_response_first = 0x0d,
  rdma_read_response_middle = 0x0e,
  rdma_read_response_last = 0x0f,
  rdma_read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_swap = 0x13,
  fetch_add = 0x14,
  send_last_invalidate = 0x16,
  send_only_invalidate = 0x17,
};

/// A BTH opcode: a transport with an operation. The named values are those that only one transport
/// has.
enum class bth_opcode : std::uint8_t { ud_send_only = 0x64, ud_send_only_imm = 0x65, cnp = 0x81 };

constexpr bth_opcode make_bth_opcode(bth_transport transport, bth_operation operation) {
  return static_cast<bth_opcode>(static_cast<unsigned>(transport) | static_cast<unsigned>(operation));
}
constexpr bth_transport transport_of(bth_opcode opcode) {
  return static_cast<bth_transport>(static_cast<unsigned>(opcode) & 0xe0);
}
constexpr bth_operation operation_of(bth_opcode opcode) {
  return static_cast<bth_operation>(static_cast<unsigned>(opcode) & 0x1f);
}

/// Base transport header. fecn and becn are the two top bits of what IBTA 1.2 calls reserved.
struct bth {
  static constexpr std::size_t bytes = 12;
  as<bth_opcode> opcode    {0x00, 31, 24, "opcode"};
  as<bool>       solicited {0x00, 23, 23, "solicited"};
  as<bool>       migrated  {0x00, 22, 22, "migrated"};
  bits           pad_count {0x00, 21, 20, "pad_count"};
  bits           version   {0x00, 19, 16, "version"};
  bits           pkey      {0x00, 15,  0, "pkey"};
  as<bool>       fecn      {0x04, 31, 31, "fecn"};
  as<bool>       becn      {0x04, 30, 30, "becn"};
  bits           dest_qp   {0x04, 23,  0, "dest_qp"};
  as<bool>       ack_req   {0x08, 31, 31, "ack_req"};
  bits           psn       {0x08, 23,  0, "psn"};
};

/// The bits of the BTH that links may change on the way: fecn, becn and the reserved bits beside
/// them. The invariant CRC takes them as ones. Source: IBTA vol. 1, 7.8.1; rxe_icrc.c
/// (rxe_icrc_hdr).
struct bth_variant {
  static constexpr std::size_t bytes = bth::bytes;
  bits resv8a {0x04, 31, 24, "resv8a"};
};

/// Reliable datagram extended transport header.
struct rdeth {
  static constexpr std::size_t bytes = 4;
  bits ee_context {0x00, 23,  0, "ee_context"};
};

/// Datagram extended transport header.
struct deth {
  static constexpr std::size_t bytes = 8;
  bits qkey      {0x00, 31,  0, "qkey"};
  bits source_qp {0x04, 23,  0, "source_qp"};
};

/// XRC extended transport header: stands between BTH and the others in XRC requests.
struct xrceth {
  static constexpr std::size_t bytes = 4;
  bits xrc_srq {0x00, 23,  0, "xrc_srq"};
};

/// RDMA extended transport header.
struct reth {
  static constexpr std::size_t bytes = 16;
  bits virtual_address {0x00, 63,  0, "virtual_address"};
  bits rkey            {0x08, 31,  0, "rkey"};
  bits dma_length      {0x0c, 31,  0, "dma_length"};
};

/// Atomic extended transport header. Fetch and add uses swap_add alone.
struct atomic_eth {
  static constexpr std::size_t bytes = 28;
  bits virtual_address {0x00, 63,  0, "virtual_address"};
  bits rkey            {0x08, 31,  0, "rkey"};
  bits swap_add        {0x0c, 63,  0, "swap_add"};
  bits compare         {0x14, 63,  0, "compare"};
};

/// The header of a masked compare and swap: its two masks behind what the plain one has. Masked
/// fetch and add fits atomic_eth, with the mask of field boundaries in `compare`. That the operands
/// stand in the extended transport header, and that the answer is the plain one, says the MLNX_OFED
/// manual, "Enhanced Atomic Operations"; for their places there is no source: chosen.
struct masked_atomic_eth {
  static constexpr std::size_t bytes = 44;
  bits virtual_address {0x00, 63,  0, "virtual_address"};
  bits rkey            {0x08, 31,  0, "rkey"};
  bits swap            {0x0c, 63,  0, "swap"};
  bits compare         {0x14, 63,  0, "compare"};
  bits swap_mask       {0x1c, 63,  0, "swap_mask"};
  bits compare_mask    {0x24, 63,  0, "compare_mask"};
};

/// What the top three bits of an AETH syndrome say; the low five are credits (ACK), the timer (RNR
/// NAK) or the reason (NAK). Sources: IBTA vol. 1, 9.7.5.2; rxe_hdr.h (enum aeth_syndrome).
enum class aeth_type : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };
enum class nak_code : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};
inline constexpr std::uint8_t aeth_credits_invalid = 0x1f;  ///< an ACK that limits nothing

/// ACK extended transport header.
struct aeth {
  static constexpr std::size_t bytes = 4;
  as<aeth_type> type  {0x00, 31, 29, "type"};
  bits          value {0x00, 28, 24, "value"};
  bits          msn   {0x00, 23,  0, "msn"};
};

/// Atomic acknowledge extended transport header.
struct atomic_ack_eth {
  static constexpr std::size_t bytes = 8;
  bits original_data {0x00, 63,  0, "original_data"};
};

/// Immediate data.
struct immdt {
  static constexpr std::size_t bytes = 4;
  bits immediate {0x00, 31,  0, "immediate"};
};

/// Invalidate extended transport header.
struct ieth {
  static constexpr std::size_t bytes = 4;
  bits rkey {0x00, 31,  0, "rkey"};
};

/// The invariant CRC goes from end to end, the variant CRC over one link. Both are shifted out
/// least significant bit first, start as all ones, are complemented, and stand with their least
/// significant byte first. Polynomials in that order of bits: x^32 + x^26 + ... + 1 (Ethernet's),
/// x^16 + x^12 + x^3 + x + 1.
/// Sources: IBTA vol. 1, 7.8.1 and 7.8.2; rxe_icrc.c.
inline constexpr std::size_t icrc_bytes = 4;
inline constexpr std::size_t vcrc_bytes = 2;
inline constexpr std::uint32_t icrc_polynomial = 0xedb88320;
inline constexpr std::uint16_t vcrc_polynomial = 0xd008;

/// The longest packet: headers of up to 126 bytes from the LRH to the VCRC around the payload.
/// Source: IBTA vol. 1, 7.7.8 (MTU + 124 bytes without the VCRC).
constexpr std::size_t greatest_packet_bytes(std::size_t mtu) { return mtu + 124 + vcrc_bytes; }

/// What a link packet says. Sources: IBTA vol. 1, 7.9.4 for the two that are flow control; the
/// others are reserved there and stand for the ordered sets of link training (vol. 2, 5.6.4: TS1,
/// TS2, and the end of the signal), which a channel of packets cannot carry: no source, chosen.
enum class link_packet_op : std::uint8_t {
  flow_control = 0,       ///< in Armed and Active
  flow_control_init = 1,  ///< in Initialize
  training_1 = 0xd,       ///< polls, and has heard of the other end too little
  training_2 = 0xe,       ///< has heard of it, and is ready for LinkUp
  no_signal = 0xf,        ///< the transmitter goes off
};

/// Flow control packet. Blocks are of 64 bytes; both counts wrap. lpcrc: the variant CRC over the
/// bytes before it. Source: IBTA vol. 1, 7.9.4.
struct link_packet {
  static constexpr std::size_t bytes = 6;
  as<link_packet_op> op    {0x00, 31, 28, "op"};
  /// Blocks sent in this lane since the link came up.
  bits               fctbs {0x00, 27, 16, "fctbs"};
  bits               vl    {0x00, 15, 12, "vl"};
  /// How many blocks the other end may have sent.
  bits               fccl  {0x00, 11,  0, "fccl"};
  raw<2>             lpcrc {0x04, "lpcrc"};
};
inline constexpr std::size_t flow_control_block_bytes = 64;
/// The most blocks that a limit can lie ahead. Source: IBTA vol. 1, 7.9.4.
inline constexpr unsigned flow_control_blocks_ahead = 2048;

/// The wait that an RNR NAK timer code asks for, in microseconds. Source: IBTA vol. 1, table 45;
/// the same figures are in drivers/infiniband/sw/rdmavt/qp.c (ib_rvt_rnr_table).
constexpr std::uint32_t rnr_timer_us(unsigned code) {
  constexpr std::uint32_t us[32] = {655360, 10,    20,    30,    40,    60,    80,     120,    160,    240,   320,
                                    480,    640,   960,   1280,  1920,  2560,  3840,   5120,   7680,   10240, 15360,
                                    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
  return us[code & 31];
}

/// Credits that an AETH's five bits stand for; code 31 limits nothing (0 here).
/// Source: IBTA vol. 1, table 46 (drivers/infiniband/sw/rdmavt/rc.c has the same figures).
constexpr std::uint32_t aeth_credits(unsigned code) {
  constexpr std::uint16_t credits[31] = {0,   1,   2,   3,   4,   6,    8,    12,   16,   24,   32,
                                         48,  64,  96,  128, 192, 256,  384,  512,  768,  1024, 1536,
                                         2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
  return code < 31 ? credits[code] : 0;
}

static_assert(lrh::bytes == 8 && grh{}.dgid.offset == 24 && bth::bytes == 12 && atomic_eth{}.compare.offset == 20);

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests of raw Ethernet queue pairs. Source of the fields: Linux 6.1 mlx4/en_tx.c
// (mlx4_en_xmit).
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/queues/requests.hpp>
#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

/// A frame without an inserted tag.
inline constexpr std::uint16_t no_tag = 0xffff;
/// The shortest frame that a post accepts. mlx4_en pads shorter frames to this length by itself
/// (Linux 6.1 en_tx.c build_inline_wqe, MIN_PKT_LEN). The device pads a frame to 60 bytes and
/// appends its frame check sequence.
inline constexpr std::uint32_t least_frame_bytes = 17;

/// What the device does with a frame.
struct frame_options {
  bool ip_checksum = false;  ///< computes the checksum of the IPv4 header
  bool l4_checksum = false;  ///< computes the checksum of TCP or UDP
  /// Delivers the frame to the receivers of the port, and does not send it.
  bool force_loopback = false;
  bool service_tag = false;     ///< the inserted tag is a service tag (802.1ad)
  std::uint16_t vlan = no_tag;  ///< inserts a tag with this VLAN, 0 to 4094
  std::uint8_t priority = 0;    ///< 0 to 7, in the inserted tag
  /// The destination MAC of the frame: the receivers of the port that have this address get the
  /// frame too. 0: only the wire gets the frame.
  std::uint64_t loopback_mac = 0;
};

/// The headers of a large send: Ethernet, IP, and TCP or UDP. The device completes a request with
/// other headers in error.
struct frame_headers {
  const std::byte* from = nullptr;
  std::uint16_t length = 0;
  std::uint16_t payload = 0;  ///< bytes behind the headers of each frame, at least 1 (MSS)
};

/// Bytes of the segment that holds the headers.
constexpr std::uint32_t segment_bytes(const frame_headers& h) {
  constexpr auto unit = static_cast<std::uint32_t>(layouts::wqe_unit);
  return (static_cast<std::uint32_t>(layouts::wqe_lso::bytes) + h.length + unit - 1) / unit * unit;
}

inline bool is_sound(const frame_options& f) {
  return (f.vlan == no_tag || (f.vlan < 0xfff && f.priority <= 7)) && f.loopback_mac >> 48 == 0;
}
constexpr std::uint32_t least_bytes_of(const frame_options&) {
  return least_frame_bytes;
}
inline bool is_sound(const frame_headers& h) {
  return h.from != nullptr && h.length >= least_frame_bytes && h.payload != 0;
}

/// The fields of the first and of the second word of the control segment, in host order.
constexpr std::uint64_t first_word_of(const frame_options& f) {
  using l = layouts::wqe_ctrl_ethernet;
  if (f.vlan == no_tag) return 0;
  return layouts::in_word<&l::vlan_tag>(std::uint64_t{f.priority} << 13 | f.vlan) |
         (f.service_tag ? layouts::in_word<&l::ins_svlan>(1) : layouts::in_word<&l::ins_cvlan>(1));
}
constexpr std::uint64_t second_word_of(const frame_options& f) {
  using l = layouts::wqe_ctrl_ethernet;
  return layouts::in_word<&l::no_icrc>(1) | layouts::in_word<&l::ip_csum>(f.ip_checksum) |
         layouts::in_word<&l::l4_csum>(f.l4_checksum) |
         layouts::in_word<&l::force_loopback>(f.force_loopback) |
         layouts::in_word<&l::dmac_47_32>(f.loopback_mac >> 32) |
         layouts::in_word<&l::dmac_31_0>(f.loopback_mac & 0xffff'ffff);
}

/// Stores the headers of a large send behind the control segment, the last block first. The first
/// word of each block replaces the stamp.
inline void store_headers(std::byte* wqe, const frame_headers& h) {
  constexpr std::uint32_t block = layouts::wqe_basic_block,
                          first = layouts::wqe_ctrl::bytes + layouts::wqe_lso::bytes;
  std::uint32_t left = h.length;
  while (first + left > block) {
    const std::uint32_t at = (first + left - 1) / block * block;
    const std::byte* const from = h.from + (at - first);
    const std::uint32_t bytes = first + left - at;
    std::byte word[4] = {};
    __builtin_memcpy(word, from, bytes < sizeof word ? bytes : sizeof word);
    if (bytes > sizeof word)
      dma::store_bytes(wqe + at + sizeof word, from + sizeof word, bytes - sizeof word);
    barrier::dma_store_to_dma_store();
    dma::store_be32(wqe + at, layouts::load_be<std::uint32_t>(word));
    left -= bytes;
  }
  dma::store_bytes(wqe + first, h.from, left);
  using l = layouts::wqe_lso;
  layouts::image<l> head;
  head.set<&l::mss>(h.payload).set<&l::header_size>(h.length);
  dma::store_be32(wqe + layouts::wqe_ctrl::bytes, layouts::load_be<std::uint32_t>(head.data()));
}

/// A frame from the destination address on, without the frame check sequence. If the port does not
/// take its length, the device drops it, and the request succeeds.
template <class Data>
struct send_frame_of {
  static constexpr auto opcode = layouts::wqe_opcode::send;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  Data data{};
  frame_options frame{};
  request_flags flags = request_flags::signaled;
};
using send_frame = send_frame_of<data_entry>;
using send_frame_list = send_frame_of<data_list>;
using send_frame_inline = send_frame_of<inline_data>;

/// A payload that the device cuts into frames, each with the headers (LSO). It counts up the IPv4
/// identification and the TCP sequence number. With both checksums in `frame`, it computes them for
/// each frame. The entries of the queue must have room (raw_ethernet_attributes::header_bytes).
template <class Data>
struct send_large_frame_of {
  static constexpr auto opcode = layouts::wqe_opcode::lso;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  frame_headers headers{};
  Data data{};
  frame_options frame{};
  request_flags flags = request_flags::signaled;
};
using send_large_frame = send_large_frame_of<data_entry>;
using send_large_frame_list = send_large_frame_of<data_list>;

}  // namespace freehca::queues

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Sends of queue pairs of service MLX: the driver prepares the headers of the packet, from the LRH
// or the Ethernet header to the DETH. The device adds the invariant CRC. Source: Linux 6.1
// hw/mlx4/qp.c build_mlx_header, set_mlx_icrc_seg.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/queues/requests.hpp>
#include <freehca/queues/sq_shape.hpp>
#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

/// The most bytes of headers: Ethernet header, VLAN tag, GRH or IPv6 header, UDP header, BTH, DETH.
inline constexpr std::size_t most_header_bytes = 86;
/// Bytes of the control segment, the longest headers, and the segment of the invariant CRC.
inline constexpr std::size_t prepared_header_bytes =
    wqe_end_of_inline(layouts::wqe_ctrl::bytes, most_header_bytes) + layouts::wqe_unit;
static_assert(prepared_header_bytes == 128);

/// A packet with prepared headers. The queue does not check them.
struct send_packet {
  static constexpr auto opcode = layouts::wqe_opcode::send;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  inline_data packet_headers{};  ///< at most most_header_bytes
  /// Fields of both words of a layouts::wqe_ctrl_mlx or layouts::wqe_ctrl_ethernet: in_word().
  std::uint64_t first_word = 0, second_word = 0;
  data_list data{};                               ///< the payload
  request_flags flags = request_flags::signaled;  ///< `solicited` is a bit of the headers instead
};

/// Stores the segments of a packet behind the control segment, those at the end of the WQE first,
/// as the stamps require. `entries` is the number of entries that are not empty. Returns the length
/// of the WQE in bytes.
inline std::uint32_t store_packet(std::byte* wqe, std::uint32_t at, const send_packet& packet,
                                  unsigned entries) {
  static constexpr std::byte icrc[4] = {};  // the device replaces it
  const auto data_at =
      static_cast<std::uint32_t>(wqe_end_of_inline(at, packet.packet_headers.length));
  const auto icrc_at = data_at + entries * static_cast<std::uint32_t>(layouts::wqe_data::bytes);
  const std::uint32_t end = store_inline(wqe, icrc_at, {icrc, sizeof icrc});
  store_list(wqe, data_at, packet.data, entries);
  store_inline(wqe, at, packet.packet_headers);
  return end;
}

}  // namespace freehca::queues

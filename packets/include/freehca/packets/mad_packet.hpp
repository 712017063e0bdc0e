// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/mad.hpp>

namespace freehca::packets {

using mad_buffer = std::array<std::byte, layouts::mad_bytes>;

/// A management datagram with what its packet's headers say. Every field is in host order.
struct mad_packet {
  std::uint16_t slid = 0, dlid = 0;
  std::uint8_t virtual_lane = 0, service_level = 0;
  std::uint32_t source_qp = 0, dest_qp = 0, qkey = 0;
  std::uint16_t pkey = 0xffff;
  std::uint32_t psn = 0;
  std::optional<layouts::image<layouts::grh>> grh;
  mad_buffer mad{};
};

/// What of a packet's headers decides where it goes; valid for every packet with a BTH.
struct packet_summary {
  std::uint16_t slid = 0, dlid = 0;
  std::uint32_t dest_qp = 0;
  layouts::bth_opcode opcode{};
  bool global = false;
  std::uint32_t words = 0;  ///< 4-byte words from the LRH to the ICRC: what PortXmitData counts
};

/// Builds the packet, from the LRH to the end of the MAD: UD, send only.
std::vector<std::byte> build(const mad_packet& m);

/// None when the packet (without its CRCs) is not a UD send of exactly one MAD.
std::optional<mad_packet> decode(std::span<const std::byte> content);

/// None when the packet is too short to have a BTH or says that it has none.
std::optional<packet_summary> summarise(std::span<const std::byte> content);

}  // namespace freehca::packets

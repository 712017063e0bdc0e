// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// InfiniBand packets put together and taken apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include <freehca/layouts/headers.hpp>

#include "link/packet.hpp"
#include "link/port_addresses.hpp"

namespace freehca::model {

/// How a packet leaves: port, service level, and whom it reaches.
struct path {
  unsigned port = 1, sl = 0;
  std::uint8_t path_bits = 0;  ///< of the source LID
  std::uint16_t dlid = 0;
  bool force_loopback = false;
  bool global = false;  ///< carries a GRH: the fields that follow
  unsigned sgid_index = 0;
  std::uint8_t hop_limit = 0, traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::array<std::byte, 16> dgid{};
};

/// A packet with its route and base transport headers in place, and room for the rest.
struct frame {
  packet p;
  std::size_t extended = 0;  ///< where the extended transport headers begin
  std::size_t payload = 0;   ///< where the payload begins

  /// Writes header T at `offset` past the start of the extended headers, and gives the offset
  /// behind it.
  template <class T>
  std::size_t put(std::size_t offset, const layouts::image<T>& header) {
    std::memcpy(p.bytes.data() + extended + offset, header.data(), T::bytes);
    return offset + T::bytes;
  }
  std::byte* payload_bytes() { return p.bytes.data() + payload; }
};

/// Lays out a packet: `transport` gets its pad count here. Payload bytes are zero until written.
frame make_frame(const port_addresses& from, const path& way,
                 layouts::image<layouts::bth> transport, std::size_t extended_bytes,
                 std::size_t payload_bytes);

/// A received packet, its headers decoded as far as the BTH. Points into the packet.
struct packet_view {
  layouts::image<layouts::lrh> lrh;
  bool global = false;
  const std::byte* grh = nullptr;  ///< 40 bytes, when global
  layouts::image<layouts::bth> bth;
  const std::byte* rest = nullptr;  ///< behind the BTH, or behind the headers taken so far
  std::size_t rest_bytes = 0;       ///< without padding

  /// Nothing when lengths contradict each other or the packet is no InfiniBand transport packet.
  static std::optional<packet_view> of(const packet& p);
  /// Which field says that; for a packet that of() does not take.
  static std::string why_not(const packet& p);

  /// Takes header T off the front of the rest; nothing when the packet is too short.
  template <class T>
  std::optional<layouts::image<T>> take() {
    if (rest_bytes < T::bytes) return std::nullopt;
    const auto header = layouts::image<T>::from_bytes(rest);
    rest += T::bytes;
    rest_bytes -= T::bytes;
    return header;
  }
  std::uint32_t destination() const {
    return static_cast<std::uint32_t>(bth.get<&layouts::bth::dest_qp>());
  }
  std::uint32_t psn() const { return static_cast<std::uint32_t>(bth.get<&layouts::bth::psn>()); }
};

}  // namespace freehca::model

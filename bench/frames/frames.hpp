// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the measurements of both drivers share: the frame, and the rounds. Port 1 of the adapter
// sends, and port 2 receives. A cable joins them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "counted.hpp"

namespace freehca::bench {

inline constexpr unsigned burst = 32;          ///< frames of a call
inline constexpr unsigned ring_frames = 1024;  ///< of each queue: a round fits twice
inline constexpr unsigned send_buffers = 2048;
inline constexpr unsigned buffer_bytes = 2048;
inline constexpr unsigned frame_sizes[] = {64, 1500};  ///< without the frame check sequence
inline constexpr unsigned ethernet_header = 14, ip_header = 20, udp_header = 8;

inline void store_be16(std::byte* to, unsigned value) {
  to[0] = static_cast<std::byte>(value >> 8 & 0xff);
  to[1] = static_cast<std::byte>(value & 0xff);
}

/// A UDP datagram from port 7 to port 7, between two addresses of 192.0.2.0/24. The checksum of the
/// IPv4 header is right. The checksum of UDP is `l4_sum`.
inline void write_frame(std::byte* to, unsigned bytes, const std::uint8_t (&destination)[6],
                        unsigned l4_sum) {
  std::memset(to, 0, bytes);
  std::memcpy(to, destination, 6);
  to[6] = std::byte{2};  // a locally administered source
  store_be16(to + 12, 0x0800);
  std::byte* const ip = to + ethernet_header;
  ip[0] = std::byte{0x45};
  store_be16(ip + 2, bytes - ethernet_header);
  ip[8] = std::byte{64};
  ip[9] = std::byte{17};
  constexpr std::uint8_t addresses[8] = {192, 0, 2, 1, 192, 0, 2, 2};
  std::memcpy(ip + 12, addresses, sizeof addresses);
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < ip_header; i += 2)
    sum += std::to_integer<unsigned>(ip[i]) << 8 | std::to_integer<unsigned>(ip[i + 1]);
  sum = (sum & 0xffff) + (sum >> 16);
  store_be16(ip + 10, ~(sum + (sum >> 16)) & 0xffff);
  std::byte* const udp = ip + ip_header;
  store_be16(udp, 7);
  store_be16(udp + 2, 7);
  store_be16(udp + 4, bytes - ethernet_header - ip_header);
  store_be16(udp + 6, l4_sum);
}

/// Tells both rows of frames of this size. transmit(n) sends n frames, receive(n) takes n frames
/// that have all come. Both return their instructions.
template <class Transmit, class Receive>
void tell_frames(unsigned bytes, bool checksums, Transmit transmit, Receive receive) {
  const request_cost each = for_each_request([&](unsigned n) {
    round_cost c;
    c.post = transmit(n);
    let_device_work();
    c.poll = receive(n);
    return c;
  });
  const std::string frames =
      " of " + std::to_string(bytes) + " bytes" + (checksums ? ", checksums by the device" : "");
  tell(("transmit" + frames).c_str(), each.post);
  tell(("receive" + frames).c_str(), each.poll);
}

}  // namespace freehca::bench

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// What a receive completion says of the headers of a frame (docs/hardware-ethernet.md).
struct receive_checks {
  bool ipv4 = false, ipv6 = false;
  bool options = false, fragment = false;  ///< IPv4
  std::uint8_t ipv6_extensions = 0;        ///< a mask, as the completion has it
  bool tcp = false, udp = false;
  bool ip_ok = false;  ///< the checksum of the IPv4 header is right; set for IPv6
  bool l4_ok = false;  ///< that of TCP or UDP is right, and there is one
  /// The sum over what IP carries, with the pseudo header: 0xffff where the checksum in it is
  /// right; 0 for what is not IP.
  std::uint16_t sum = 0;
};

/// `h`: the outer or the inner headers of `v`.
receive_checks check(const frame_view& v, const frame_headers& h);

/// Put into a frame to be sent, whose headers are `h`. What stands there does not count. Nothing
/// changes in what is not IPv4.
void put_ipv4_checksum(std::span<std::byte> frame, const frame_headers& h);
/// The checksum of TCP or UDP. Nothing changes in fragments and in other protocols.
void put_l4_checksum(std::span<std::byte> frame, const frame_headers& h);

}  // namespace freehca::model

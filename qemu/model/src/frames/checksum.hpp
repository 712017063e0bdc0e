// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// A ones' complement sum of 16-bit words in network order (RFC 1071).
class ones_sum {
 public:
  /// Each string begins a word; an odd last byte is the upper half of one.
  ones_sum& add(std::span<const std::byte> bytes);
  ones_sum& add(std::uint32_t value) {
    sum_ += value;
    return *this;
  }
  /// Not inverted. Over what has its own right checksum in it, this is `ones_sum_right`.
  std::uint16_t folded() const;

 private:
  std::uint64_t sum_ = 0;
};
inline constexpr std::uint16_t ones_sum_right = 0xffff;

/// `bytes` are the whole frame and `h` headers of it, the outer or the inner ones.
bool ipv4_header_right(std::span<const std::byte> bytes, const frame_headers& h);

/// False also where there is none to look at: what is neither TCP nor UDP, fragments, UDP without a
/// checksum, and UDP whose length is that of no datagram in this packet.
bool l4_checksum_right(std::span<const std::byte> bytes, const frame_headers& h);

/// Writes the checksum of an IPv4 header; what stood there does not count. Nothing for what is not
/// IPv4.
void put_ipv4_checksum(std::span<std::byte> bytes, const frame_headers& h);

/// The same for TCP and UDP. Nothing where `l4_checksum_right` has none to look at, but UDP without
/// a checksum gets one.
void put_l4_checksum(std::span<std::byte> bytes, const frame_headers& h);

/// Which checksums a send asks for. With VXLAN `ip` and `l4` are the outer ones.
struct checksum_requests {
  bool ip = false, l4 = false, inner_ip = false, inner_l4 = false;
};

/// Puts the checksums that are asked for into a whole frame, the inner ones first: outer UDP covers
/// them.
void put_checksums(std::span<std::byte> bytes, std::uint16_t vxlan_port,
                   const checksum_requests& requests);

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <freehca/layouts/ethernet.hpp>

namespace freehca::model {

enum class network_protocol : std::uint8_t { other, ipv4, ipv6 };
enum class port_protocol : std::uint8_t { none, tcp, udp };

/// The headers of a frame, from an Ethernet header on, or of a datagram of IP over InfiniBand: what
/// there is of them. Offsets count from the first byte.
struct frame_headers {
  std::size_t begin = 0;  ///< of the destination MAC, which a datagram does not have
  std::uint64_t destination = 0, source = 0;
  std::optional<layouts::image<layouts::vlan_tag>> tag;  ///< the outer one
  std::uint16_t ether_type = 0;                          ///< behind all tags
  std::size_t network = 0;                               ///< behind all tags

  /// Of IP; the rest is set only for it, and only when header and length make sense.
  network_protocol ip = network_protocol::other;
  std::size_t network_bytes = 0;  ///< of the header, with options or extension headers
  std::size_t end = 0;            ///< by the length that the header states: padding stands behind
  bool options = false;           ///< IPv4
  bool extensions = false;        ///< IPv6
  /// IPv6: there is a fragment header, even one that stands alone (RFC 6946).
  bool fragment = false, later_fragment = false;
  std::uint8_t protocol = 0;  ///< of what follows the header

  /// Of TCP and UDP; not set in later fragments, nor when the header is cut off.
  port_protocol ports = port_protocol::none;
  std::size_t transport = 0;        ///< where its header begins
  std::size_t transport_bytes = 0;  ///< of the header
  std::uint16_t source_port = 0, destination_port = 0;

  bool multicast() const { return (destination >> 40 & 1) != 0; }
  bool broadcast() const { return destination == 0xffff'ffff'ffff; }
};

/// A frame taken apart. Points into the frame.
struct frame_view {
  std::span<const std::byte> bytes;
  frame_headers outer;
  std::optional<frame_headers> inner;  ///< of VXLAN
  std::uint32_t vni = 0;               ///< with `inner`

  /// `vxlan_port`: UDP's destination port of VXLAN; 0: none is known. Nothing: there is not even
  /// an Ethernet header.
  static std::optional<frame_view> of(std::span<const std::byte> bytes,
                                      std::uint16_t vxlan_port = 0);

  /// The same of the headers of a message that is still to be cut into frames, whose stated lengths
  /// count for nothing: all of it ends where the bytes end.
  static std::optional<frame_view> of_message_header(std::span<const std::byte> bytes,
                                                     std::uint16_t vxlan_port = 0);

  /// Both of the payload of an InfiniBand datagram, as IP over InfiniBand has it (RFC 4391, section
  /// 6): no addresses and no tags. Nothing: there is not even the header with the EtherType.
  static std::optional<frame_view> of_ipoib(std::span<const std::byte> bytes);
  static std::optional<frame_view> of_ipoib_message_header(std::span<const std::byte> bytes);
};

/// So many extension headers of IPv6 are looked behind; what stands behind more of them is of no
/// known protocol. No source: chosen.
inline constexpr unsigned ipv6_extensions_most = 8;

}  // namespace freehca::model

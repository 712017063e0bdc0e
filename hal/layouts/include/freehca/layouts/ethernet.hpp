// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ethernet, VLAN, IPv4, TCP, UDP and VXLAN headers and the extension headers of IPv6, as far as
// RoCE and the device model need them, and the header of IP over InfiniBand. An IPv6 header has the
// rows of `grh`. Sources: IEEE 802.3 and 802.1Q, RFC 791, RFC 768, RFC 8200, RFC 9293, RFC 7348,
// RFC 4391, IBTA annexes A16 and A17, as read through drivers/infiniband/core/ud_header.c.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

namespace ethertype {
inline constexpr std::uint16_t ipv4 = 0x0800;
inline constexpr std::uint16_t arp = 0x0806;
inline constexpr std::uint16_t vlan = 0x8100;
inline constexpr std::uint16_t service_vlan = 0x88a8;
inline constexpr std::uint16_t ipv6 = 0x86dd;
inline constexpr std::uint16_t roce_v1 = 0x8915;
}  // namespace ethertype

inline constexpr std::uint16_t roce_v2_udp_port = 4791;
/// The source ports of RoCE v2 are from here on (Linux 6.1 mlx4/qp.c mlx4_qp_roce_entropy).
inline constexpr std::uint16_t roce_v2_first_source_port = 0xc000;
inline constexpr std::uint8_t ip_protocol_tcp = 6;
inline constexpr std::uint8_t ip_protocol_udp = 17;
inline constexpr std::uint8_t ipv4_version = 4;

/// Extension headers, as the next header field of what stands before them names them: RFC 8200.
namespace ipv6_extension_type {
inline constexpr std::uint8_t hop_by_hop = 0;
inline constexpr std::uint8_t routing = 43;
inline constexpr std::uint8_t fragment = 44;
inline constexpr std::uint8_t destination = 60;
}  // namespace ipv6_extension_type

/// Stands before the IP header in a datagram of IP over InfiniBand (RFC 4391, section 6).
struct ipoib_header {
  static constexpr std::size_t bytes = 4;
  bits type {0x00, 31, 16, "type"};  ///< ethertype
};

/// The two addresses of a frame. The type, or a VLAN tag, follows.
struct ethernet_addresses {
  static constexpr std::size_t bytes = 12;
  raw<6> dmac {0x00, "dmac"};
  raw<6> smac {0x06, "smac"};
};

/// The same two addresses as numbers, the first byte of each the most significant.
struct ethernet_address_numbers {
  static constexpr std::size_t bytes = ethernet_addresses::bytes;
  bits destination {0x00, 63, 16, "destination"};
  bits source      {0x04, 47,  0, "source"};
};

/// The EtherType behind the addresses, or behind the last tag.
inline constexpr std::size_t ether_type_bytes = 2;

/// A VLAN tag, with the EtherType that says so.
struct vlan_tag {
  static constexpr std::size_t bytes = 4;
  bits     tpid     {0x00, 31, 16, "tpid"};
  bits     priority {0x00, 15, 13, "priority"};
  as<bool> dei      {0x00, 12, 12, "dei"};
  bits     vid      {0x00, 11,  0, "vid"};
};

struct ipv4_header {
  static constexpr std::size_t bytes = 20;
  bits     version         {0x00, 31, 28, "version"};
  bits     header_words    {0x00, 27, 24, "header_words"};
  bits     tos             {0x00, 23, 16, "tos"};
  bits     total_length    {0x00, 15,  0, "total_length"};
  bits     identification  {0x04, 31, 16, "identification"};
  as<bool> dont_fragment   {0x04, 14, 14, "dont_fragment"};
  as<bool> more_fragments  {0x04, 13, 13, "more_fragments"};
  bits     fragment_offset {0x04, 12,  0, "fragment_offset"};
  bits     ttl             {0x08, 31, 24, "ttl"};
  bits     protocol        {0x08, 23, 16, "protocol"};
  bits     checksum        {0x08, 15,  0, "checksum"};
  bits     source          {0x0c, 31,  0, "source"};
  bits     destination     {0x10, 31,  0, "destination"};
};

struct udp_header {
  static constexpr std::size_t bytes = 8;
  bits source_port      {0x00, 31, 16, "source_port"};
  bits destination_port {0x00, 15,  0, "destination_port"};
  bits length           {0x04, 31, 16, "length"};
  bits checksum         {0x04, 15,  0, "checksum"};
};

/// Without options: they are in header_words.
struct tcp_header {
  static constexpr std::size_t bytes = 20;
  bits     source_port      {0x00, 31, 16, "source_port"};
  bits     destination_port {0x00, 15,  0, "destination_port"};
  bits     sequence         {0x04, 31,  0, "sequence"};
  bits     acknowledgment   {0x08, 31,  0, "acknowledgment"};
  bits     header_words     {0x0c, 31, 28, "header_words"};
  as<bool> cwr              {0x0c, 23, 23, "cwr"};
  as<bool> ece              {0x0c, 22, 22, "ece"};
  as<bool> urg              {0x0c, 21, 21, "urg"};
  as<bool> ack              {0x0c, 20, 20, "ack"};
  as<bool> psh              {0x0c, 19, 19, "psh"};
  as<bool> rst              {0x0c, 18, 18, "rst"};
  as<bool> syn              {0x0c, 17, 17, "syn"};
  as<bool> fin              {0x0c, 16, 16, "fin"};
  bits     window           {0x0c, 15,  0, "window"};
  bits     checksum         {0x10, 31, 16, "checksum"};
  bits     urgent           {0x10, 15,  0, "urgent"};
};

/// How an extension header of IPv6 begins: hop-by-hop, routing, destination. They have eight bytes
/// and `length` times eight more.
struct ipv6_extension {
  static constexpr std::size_t bytes = 8;
  bits next_header {0x00, 31, 24, "next_header"};
  bits length      {0x00, 23, 16, "length"};
};

struct ipv6_fragment {
  static constexpr std::size_t bytes = 8;
  bits     next_header    {0x00, 31, 24, "next_header"};
  bits     offset         {0x00, 15,  3, "offset"};
  as<bool> more_fragments {0x00,  0,  0, "more_fragments"};
  bits     identification {0x04, 31,  0, "identification"};
};

/// Stands behind UDP; an Ethernet frame follows.
struct vxlan_header {
  static constexpr std::size_t bytes = 8;
  as<bool> vni_valid {0x00, 27, 27, "vni_valid"};
  bits     vni       {0x04, 31,  8, "vni"};
};

static_assert(claimed<ethernet_address_numbers>().sound && claimed<tcp_header>().sound);
static_assert(claimed<ipv6_extension>().sound && claimed<ipv6_fragment>().sound);
static_assert(claimed<vxlan_header>().sound);

}  // namespace freehca::layouts

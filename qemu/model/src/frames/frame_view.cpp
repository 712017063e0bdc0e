// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/frame_view.hpp"

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

/// Whether the lengths in IP headers count, or the bytes that there are.
enum class lengths : std::uint8_t { stated, ignored };

/// The structure at `at`; nothing: it does not end before `end`. `end` lies within the bytes.
template <class T>
std::optional<image<T>> read(std::span<const std::byte> bytes, std::size_t at, std::size_t end) {
  if (at > end || end - at < T::bytes) return std::nullopt;
  return image<T>::from_bytes(bytes.data() + at);
}

bool is_tag(std::uint16_t type) {
  return type == ethertype::vlan || type == ethertype::service_vlan;
}

/// The addresses, the tags and the EtherType; false: they are cut off.
bool read_ethernet(std::span<const std::byte> bytes, frame_headers& h) {
  const auto addresses = read<ethernet_address_numbers>(bytes, h.begin, bytes.size());
  std::size_t at = h.begin + ethernet_address_numbers::bytes;
  if (!addresses || bytes.size() - at < ether_type_bytes) return false;
  h.destination = addresses->get<&ethernet_address_numbers::destination>();
  h.source = addresses->get<&ethernet_address_numbers::source>();
  h.ether_type = load_be<std::uint16_t>(bytes.data() + at);
  // A tag that no EtherType follows is none.
  while (is_tag(h.ether_type) && bytes.size() - at >= vlan_tag::bytes + ether_type_bytes) {
    if (!h.tag) h.tag = image<vlan_tag>::from_bytes(bytes.data() + at);
    at += vlan_tag::bytes;
    h.ether_type = load_be<std::uint16_t>(bytes.data() + at);
  }
  h.network = at + ether_type_bytes;
  return true;
}

void read_ipv4(std::span<const std::byte> bytes, lengths which, frame_headers& h) {
  const auto ip = read<ipv4_header>(bytes, h.network, bytes.size());
  if (!ip || ip->get<&ipv4_header::version>() != ipv4_version) return;
  const std::size_t there = bytes.size() - h.network;
  const std::size_t header = ip->get<&ipv4_header::header_words>() * 4;
  const std::size_t total =
      which == lengths::stated ? ip->get<&ipv4_header::total_length>() : there;
  if (header < ipv4_header::bytes || total < header || total > there) return;
  h.ip = network_protocol::ipv4;
  h.network_bytes = header;
  h.end = h.network + total;
  h.options = header > ipv4_header::bytes;
  h.later_fragment = ip->get<&ipv4_header::fragment_offset>() != 0;
  h.fragment = h.later_fragment || ip->get<&ipv4_header::more_fragments>();
  h.protocol = static_cast<std::uint8_t>(ip->get<&ipv4_header::protocol>());
}

/// The extension header at `at`, of the type that `h.protocol` names: its bytes; 0: there is none,
/// or it is cut off. `h.protocol` becomes what follows it.
std::size_t read_extension(std::span<const std::byte> bytes, std::size_t at, frame_headers& h) {
  if (h.later_fragment) return 0;
  switch (h.protocol) {
    case ipv6_extension_type::hop_by_hop:
    case ipv6_extension_type::routing:
    case ipv6_extension_type::destination: {
      const auto extension = read<ipv6_extension>(bytes, at, h.end);
      if (!extension) return 0;
      const std::size_t length =
          ipv6_extension::bytes * (1 + extension->get<&ipv6_extension::length>());
      if (length > h.end - at) return 0;
      h.protocol = static_cast<std::uint8_t>(extension->get<&ipv6_extension::next_header>());
      return length;
    }
    case ipv6_extension_type::fragment: {
      const auto fragment = read<ipv6_fragment>(bytes, at, h.end);
      if (!fragment) return 0;
      h.fragment = true;
      h.later_fragment = fragment->get<&ipv6_fragment::offset>() != 0;
      h.protocol = static_cast<std::uint8_t>(fragment->get<&ipv6_fragment::next_header>());
      return ipv6_fragment::bytes;
    }
    default:
      return 0;
  }
}

void read_ipv6(std::span<const std::byte> bytes, lengths which, frame_headers& h) {
  const auto ip = read<grh>(bytes, h.network, bytes.size());
  if (!ip || ip->get<&grh::ip_version>() != grh_ip_version) return;
  const std::size_t there = bytes.size() - h.network - grh::bytes;
  const std::size_t payload = which == lengths::stated ? ip->get<&grh::payload_length>() : there;
  if (payload > there) return;
  h.ip = network_protocol::ipv6;
  h.network_bytes = grh::bytes;
  h.end = h.network + grh::bytes + payload;
  h.protocol = static_cast<std::uint8_t>(ip->get<&grh::next_header>());
  for (unsigned n = 0; n < ipv6_extensions_most; ++n) {
    const std::size_t length = read_extension(bytes, h.network + h.network_bytes, h);
    if (length == 0) return;
    h.extensions = true;
    h.network_bytes += length;
  }
}

void read_tcp(std::span<const std::byte> bytes, std::size_t at, frame_headers& h) {
  const auto tcp = read<tcp_header>(bytes, at, h.end);
  if (!tcp) return;
  const std::size_t header = tcp->get<&tcp_header::header_words>() * 4;
  if (header < tcp_header::bytes || header > h.end - at) return;
  h.ports = port_protocol::tcp;
  h.transport = at;
  h.transport_bytes = header;
  h.source_port = static_cast<std::uint16_t>(tcp->get<&tcp_header::source_port>());
  h.destination_port = static_cast<std::uint16_t>(tcp->get<&tcp_header::destination_port>());
}

void read_udp(std::span<const std::byte> bytes, std::size_t at, frame_headers& h) {
  const auto udp = read<udp_header>(bytes, at, h.end);
  if (!udp) return;
  h.ports = port_protocol::udp;
  h.transport = at;
  h.transport_bytes = udp_header::bytes;
  h.source_port = static_cast<std::uint16_t>(udp->get<&udp_header::source_port>());
  h.destination_port = static_cast<std::uint16_t>(udp->get<&udp_header::destination_port>());
}

/// What follows the EtherType.
void read_packet(std::span<const std::byte> bytes, lengths which, frame_headers& h) {
  if (h.ether_type == ethertype::ipv4) read_ipv4(bytes, which, h);
  if (h.ether_type == ethertype::ipv6) read_ipv6(bytes, which, h);
  if (h.ip == network_protocol::other || h.later_fragment) return;
  const std::size_t transport = h.network + h.network_bytes;
  if (h.protocol == ip_protocol_tcp) read_tcp(bytes, transport, h);
  if (h.protocol == ip_protocol_udp) read_udp(bytes, transport, h);
}

/// The headers from the Ethernet header at `begin` on; nothing: there is none.
std::optional<frame_headers> read_headers(std::span<const std::byte> bytes, std::size_t begin,
                                          lengths which) {
  frame_headers h;
  h.begin = begin;
  if (!read_ethernet(bytes, h)) return std::nullopt;
  read_packet(bytes, which, h);
  return h;
}

void read_vxlan(std::uint16_t port, lengths which, frame_view& v) {
  const frame_headers& h = v.outer;
  if (port == 0 || h.ports != port_protocol::udp || h.destination_port != port || h.fragment)
    return;
  const std::size_t at = h.transport + h.transport_bytes;
  const auto vxlan = read<vxlan_header>(v.bytes, at, h.end);
  if (!vxlan || !vxlan->get<&vxlan_header::vni_valid>()) return;
  v.inner = read_headers(v.bytes.first(h.end), at + vxlan_header::bytes, which);
  if (v.inner) v.vni = static_cast<std::uint32_t>(vxlan->get<&vxlan_header::vni>());
}

std::optional<frame_view> read_frame(std::span<const std::byte> bytes, std::uint16_t vxlan_port,
                                     lengths which) {
  const auto outer = read_headers(bytes, 0, which);
  if (!outer) return std::nullopt;
  frame_view v{bytes, *outer, {}, 0};
  read_vxlan(vxlan_port, which, v);
  return v;
}

std::optional<frame_view> read_datagram(std::span<const std::byte> bytes, lengths which) {
  const auto encapsulation = read<ipoib_header>(bytes, 0, bytes.size());
  if (!encapsulation) return std::nullopt;
  frame_headers h;
  h.ether_type = static_cast<std::uint16_t>(encapsulation->get<&ipoib_header::type>());
  h.network = ipoib_header::bytes;
  read_packet(bytes, which, h);
  return frame_view{bytes, h, {}, 0};
}

}  // namespace

std::optional<frame_view> frame_view::of(std::span<const std::byte> bytes,
                                         std::uint16_t vxlan_port) {
  return read_frame(bytes, vxlan_port, lengths::stated);
}

std::optional<frame_view> frame_view::of_message_header(std::span<const std::byte> bytes,
                                                        std::uint16_t vxlan_port) {
  return read_frame(bytes, vxlan_port, lengths::ignored);
}

std::optional<frame_view> frame_view::of_ipoib(std::span<const std::byte> bytes) {
  return read_datagram(bytes, lengths::stated);
}

std::optional<frame_view> frame_view::of_ipoib_message_header(std::span<const std::byte> bytes) {
  return read_datagram(bytes, lengths::ignored);
}

}  // namespace freehca::model

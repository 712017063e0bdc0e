// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/frame_view.hpp"

#include <algorithm>

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::size_t type_bytes = 2;

/// Numbers of IANA's table of protocols that stand in front of the transport's.
constexpr std::uint8_t hop_by_hop = 0, routing = 43, fragment_header = 44, destination_options = 60;
/// Extension headers that are looked past. No source: chosen.
constexpr unsigned extensions_most = 8;

std::uint64_t address_at(const std::byte* p) {
  return std::uint64_t{load_be<std::uint16_t>(p)} << 32 | load_be<std::uint32_t>(p + 2);
}

/// Reads headers from one offset on, each only when there is enough left.
struct reader {
  std::span<const std::byte> all;

  template <class T>
  std::optional<image<T>> at(std::size_t offset, std::size_t end) const {
    if (offset > end || end - offset < T::bytes) return std::nullopt;
    return image<T>::from_bytes(all.data() + offset);
  }
};

void take_ipv4(const reader& r, frame_headers& h) {
  const auto header = r.at<ipv4_header>(h.network, r.all.size());
  if (!header || header->get<&ipv4_header::version>() != 4) return;
  const auto bytes = static_cast<std::size_t>(header->get<&ipv4_header::header_words>() * 4);
  const auto total = static_cast<std::size_t>(header->get<&ipv4_header::total_length>());
  if (bytes < ipv4_header::bytes || total < bytes || total > r.all.size() - h.network) return;
  h.ip = network_protocol::ipv4;
  h.network_bytes = bytes;
  h.end = h.network + total;
  h.options = bytes > ipv4_header::bytes;
  h.later_fragment = header->get<&ipv4_header::fragment_offset>() != 0;
  h.fragment = h.later_fragment || header->get<&ipv4_header::more_fragments>();
  h.protocol = static_cast<std::uint8_t>(header->get<&ipv4_header::protocol>());
}

void take_extensions(const reader& r, frame_headers& h) {
  for (unsigned n = 0; n < extensions_most; ++n) {
    const bool is_fragment = h.protocol == fragment_header;
    if (!is_fragment && h.protocol != hop_by_hop && h.protocol != routing &&
        h.protocol != destination_options)
      return;
    const auto header = r.at<ipv6_extension>(h.network + h.network_bytes, h.end);
    if (!header) return;
    h.extensions = true;
    if (is_fragment) {
      h.fragment = true;
      h.later_fragment = header->get<&ipv6_extension::fragment_offset>() != 0;
    }
    const std::size_t bytes =
        is_fragment ? ipv6_extension::bytes
                    : ipv6_extension::bytes *
                          (static_cast<std::size_t>(header->get<&ipv6_extension::length>()) + 1);
    if (bytes > h.end - h.network - h.network_bytes) return;
    h.network_bytes += bytes;
    h.protocol = static_cast<std::uint8_t>(header->get<&ipv6_extension::next_header>());
    // What follows the header of a later fragment is data.
    if (h.later_fragment) return;
  }
}

void take_ipv6(const reader& r, frame_headers& h) {
  const auto header = r.at<grh>(h.network, r.all.size());
  if (!header || header->get<&grh::ip_version>() != grh_ip_version) return;
  const auto payload = static_cast<std::size_t>(header->get<&grh::payload_length>());
  if (payload > r.all.size() - h.network - grh::bytes) return;
  h.ip = network_protocol::ipv6;
  h.network_bytes = grh::bytes;
  h.end = h.network + grh::bytes + payload;
  h.protocol = static_cast<std::uint8_t>(header->get<&grh::next_header>());
  take_extensions(r, h);
}

void take_ports(const reader& r, frame_headers& h) {
  if (h.ip == network_protocol::other || h.later_fragment) return;
  h.transport = h.network + h.network_bytes;
  if (h.protocol == ip_protocol_tcp) {
    const auto header = r.at<tcp_header>(h.transport, h.end);
    if (!header) return;
    const auto bytes = static_cast<std::size_t>(header->get<&tcp_header::header_words>() * 4);
    if (bytes < tcp_header::bytes || bytes > h.end - h.transport) return;
    h.ports = port_protocol::tcp;
    h.transport_bytes = bytes;
    h.source_port = static_cast<std::uint16_t>(header->get<&tcp_header::source_port>());
    h.destination_port = static_cast<std::uint16_t>(header->get<&tcp_header::destination_port>());
  } else if (h.protocol == ip_protocol_udp) {
    const auto header = r.at<udp_header>(h.transport, h.end);
    if (!header) return;
    h.ports = port_protocol::udp;
    h.transport_bytes = udp_header::bytes;
    h.source_port = static_cast<std::uint16_t>(header->get<&udp_header::source_port>());
    h.destination_port = static_cast<std::uint16_t>(header->get<&udp_header::destination_port>());
  }
}

std::optional<frame_headers> headers_from(const reader& r, std::size_t begin) {
  constexpr std::size_t least = ethernet_addresses::bytes + type_bytes;
  if (begin > r.all.size() || r.all.size() - begin < least) return std::nullopt;
  frame_headers h;
  h.begin = begin;
  h.destination = address_at(r.all.data() + begin + ethernet_addresses{}.dmac.offset);
  h.source = address_at(r.all.data() + begin + ethernet_addresses{}.smac.offset);
  h.network = begin + least;
  h.ether_type = load_be<std::uint16_t>(r.all.data() + h.network - type_bytes);
  while (h.ether_type == ethertype::vlan || h.ether_type == ethertype::service_vlan) {
    const auto tag = r.at<vlan_tag>(h.network - type_bytes, r.all.size());
    if (!tag || r.all.size() - h.network < vlan_tag::bytes) break;
    if (!h.tag) h.tag = *tag;
    h.network += vlan_tag::bytes;
    h.ether_type = load_be<std::uint16_t>(r.all.data() + h.network - type_bytes);
  }
  if (h.ether_type == ethertype::ipv4) take_ipv4(r, h);
  else if (h.ether_type == ethertype::ipv6) take_ipv6(r, h);
  take_ports(r, h);
  return h;
}

}  // namespace

std::optional<frame_view> frame_view::of(std::span<const std::byte> bytes,
                                         std::uint16_t vxlan_port) {
  const reader r{bytes};
  const auto outer = headers_from(r, 0);
  if (!outer) return std::nullopt;
  frame_view v;
  v.bytes = bytes;
  v.outer = *outer;
  const bool tunnel = vxlan_port != 0 && outer->ports == port_protocol::udp && !outer->fragment &&
                      outer->destination_port == vxlan_port;
  if (!tunnel) return v;
  const std::size_t at = outer->transport + udp_header::bytes;
  const auto head = r.at<vxlan_header>(at, outer->end);
  if (!head || !head->get<&vxlan_header::vni_valid>()) return v;
  v.inner = headers_from({bytes.first(outer->end)}, at + vxlan_header::bytes);
  v.vni = static_cast<std::uint32_t>(head->get<&vxlan_header::vni>());
  return v;
}

}  // namespace freehca::model

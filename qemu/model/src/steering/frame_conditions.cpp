// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/frame_conditions.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::uint64_t whole_mac = 0xffff'ffff'ffff;
constexpr std::uint64_t whole_address = 0xffff'ffff, whole_port = 0xffff;

image<ipv4_header> ipv4_of(const frame_view& v, const frame_headers& h) {
  return image<ipv4_header>::from_bytes(v.bytes.data() + h.network);
}

port_protocol protocol_of(const image<flow_header_ports>& p) {
  return p.get<&flow_header_ports::id>() == flow_header_id::tcp ? port_protocol::tcp
                                                                : port_protocol::udp;
}

/// A frame without a tag fits no VLAN. No source: chosen.
bool fits_vlan(const image<flow_header_ethernet>& link, const frame_headers& h) {
  using l = flow_header_ethernet;
  const std::uint64_t mask = link.get<&l::vlan_mask>();
  if (mask == 0) return true;
  return h.tag && fits(load_be<std::uint32_t>(h.tag->data()), link.get<&l::vlan>(), mask);
}

bool fits_link(const image<flow_header_ethernet>& link, const frame_headers& h) {
  using l = flow_header_ethernet;
  return fits(h.destination, link.get<&l::dmac>(), link.get<&l::dmac_mask>()) &&
         fits(h.source, link.get<&l::smac>(), link.get<&l::smac_mask>()) &&
         (!link.get<&l::ether_type_valid>() || h.ether_type == link.get<&l::ether_type>()) &&
         fits_vlan(link, h);
}

}  // namespace

const char* frame_conditions::headers::read(rule_headers& from) {
  if (from.next() == flow_header_id::ethernet) {
    link = from.take<flow_header_ethernet>();
    if (!link) return "words or a reserved bit of the header for Ethernet";
  }
  // Linux writes no header for IPv6 (mcg.c, hw_rule_sz), and no other source has its form.
  if (from.next() == flow_header_id::ipv6)
    return "id of the header for IPv6, whose form is unknown";
  if (from.next() == flow_header_id::ipv4) {
    ipv4 = from.take<flow_header_ipv4>();
    if (!ipv4) return "words or a reserved bit of the header for IPv4";
  }
  if (from.next() == flow_header_id::tcp || from.next() == flow_header_id::udp) {
    ports = from.take<flow_header_ports>();
    if (!ports) return "words or a reserved bit of the header for TCP or UDP";
  }
  return nullptr;
}

const char* frame_conditions::read(rule_headers from) {
  if (const char* wrong = outer_.read(from)) return wrong;
  // What stands in a VXLAN frame follows (Linux mcg.c mlx4_tunnel_steer_add).
  if (from.next() == flow_header_id::vxlan) {
    vxlan_ = from.take<flow_header_vxlan>();
    if (!vxlan_) return "words or a reserved bit of the header for VXLAN";
    if (const char* wrong = inner_.read(from)) return wrong;
  }
  return from.left == 0 ? nullptr : "id of a header, which none of Ethernet has at its place";
}

bool frame_conditions::headers::fit(const frame_view& v, const frame_headers& h) const {
  using i = flow_header_ipv4;
  using p = flow_header_ports;
  if (link && !fits_link(*link, h)) return false;
  if (ipv4) {
    if (h.ip != network_protocol::ipv4) return false;
    const auto ip = ipv4_of(v, h);
    if (!fits(ip.get<&ipv4_header::destination>(), ipv4->get<&i::destination>(),
              ipv4->get<&i::destination_mask>()) ||
        !fits(ip.get<&ipv4_header::source>(), ipv4->get<&i::source>(),
              ipv4->get<&i::source_mask>()))
      return false;
  }
  return !ports || (h.ports == protocol_of(*ports) &&
                    fits(h.destination_port, ports->get<&p::destination>(),
                         ports->get<&p::destination_mask>()) &&
                    fits(h.source_port, ports->get<&p::source>(), ports->get<&p::source_mask>()));
}

bool frame_conditions::hold(const frame_view& v) const {
  using x = flow_header_vxlan;
  if (!outer_.fit(v, v.outer)) return false;
  return !vxlan_ || (v.inner && fits(v.vni, vxlan_->get<&x::vni>(), vxlan_->get<&x::vni_mask>()) &&
                     inner_.fit(v, *v.inner));
}

std::optional<std::uint64_t> frame_conditions::destination() const {
  using l = flow_header_ethernet;
  if (!outer_.link || outer_.link->get<&l::dmac_mask>() != whole_mac) return std::nullopt;
  return outer_.link->get<&l::dmac>();
}

std::optional<frame_conditions::connection> frame_conditions::one_connection() const {
  using i = flow_header_ipv4;
  using p = flow_header_ports;
  if (!outer_.ipv4 || !outer_.ports) return std::nullopt;
  const auto& ip = *outer_.ipv4;
  const auto& l4 = *outer_.ports;
  if (ip.get<&i::source_mask>() != whole_address || ip.get<&i::destination_mask>() != whole_address)
    return std::nullopt;
  if (l4.get<&p::source_mask>() != whole_port || l4.get<&p::destination_mask>() != whole_port)
    return std::nullopt;
  return connection{static_cast<std::uint32_t>(ip.get<&i::source>()),
                    static_cast<std::uint32_t>(ip.get<&i::destination>()), protocol_of(l4),
                    static_cast<std::uint16_t>(l4.get<&p::source>()),
                    static_cast<std::uint16_t>(l4.get<&p::destination>())};
}

std::optional<frame_conditions::connection> frame_conditions::connection_of(const frame_view& v) {
  const frame_headers& h = v.outer;
  if (h.ip != network_protocol::ipv4 || h.ports == port_protocol::none) return std::nullopt;
  const auto ip = ipv4_of(v, h);
  return connection{static_cast<std::uint32_t>(ip.get<&ipv4_header::source>()),
                    static_cast<std::uint32_t>(ip.get<&ipv4_header::destination>()), h.ports,
                    h.source_port, h.destination_port};
}

}  // namespace freehca::model

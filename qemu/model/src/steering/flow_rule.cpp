// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/flow_rule.hpp"

#include <algorithm>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/mcg.hpp>

#include "queues/qpn.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

bool is_exact(const std::byte* mask) {
  return std::all_of(mask, mask + 16, [](std::byte b) { return b == std::byte{0xff}; });
}

bool is_empty(const std::byte* mask) {
  return std::all_of(mask, mask + 16, [](std::byte b) { return b == std::byte{0}; });
}

bool knows(flow_rule_type type) {
  switch (type) {
    case flow_rule_type::regular:
    case flow_rule_type::all_default:
    case flow_rule_type::multicast_default:
    case flow_rule_type::unicast_sniffer:
    case flow_rule_type::multicast_sniffer:
      return true;
    default:
      return false;
  }
}

}  // namespace

flow flow::of(const transport_packet& came) {
  flow f;
  transport_packet v = came;
  f.qpn = v.destination();
  if (v.ingress.global()) f.dgid = came.ingress.dgid();
  if (!v.take<deth>()) return f;
  const auto encapsulation = v.take<ipoib_header>();
  if (!encapsulation || encapsulation->get<&ipoib_header::type>() != ethertype::ipv4) return f;
  const auto ip = v.take<ipv4_header>();
  constexpr unsigned least_words = ipv4_header::bytes / 4;
  if (!ip || ip->get<&ipv4_header::version>() != 4 ||
      ip->get<&ipv4_header::header_words>() < least_words)
    return f;
  f.ipv4 = true;
  f.source = static_cast<std::uint32_t>(ip->get<&ipv4_header::source>());
  f.destination = static_cast<std::uint32_t>(ip->get<&ipv4_header::destination>());
  const std::size_t ip_options = ip->get<&ipv4_header::header_words>() * 4 - ipv4_header::bytes;
  // TCP's ports stand where UDP's do.
  if (ip->get<&ipv4_header::fragment_offset>() != 0 ||
      v.rest_bytes < ip_options + udp_header::bytes)
    return f;
  const auto ports = image<udp_header>::from_bytes(v.rest + ip_options);
  f.protocol = static_cast<std::uint8_t>(ip->get<&ipv4_header::protocol>());
  f.source_port = static_cast<std::uint16_t>(ports.get<&udp_header::source_port>());
  f.destination_port = static_cast<std::uint16_t>(ports.get<&udp_header::destination_port>());
  return f;
}

flow_rule flow_rule::read(const std::byte* from, std::size_t bytes, const port_layers& layers) {
  flow_rule r;
  const auto wrong = [&r](const char* what) {
    r.malformed = what;
    return r;
  };
  if (bytes < flow_rule_control::bytes) return wrong("input modifier: words without a whole rule");
  r.control = image<flow_rule_control>::from_bytes(from);
  if (!r.control.reserved_clear()) return wrong("reserved bit of the control header");
  const auto port = r.control.get<&flow_rule_control::port>();
  const auto type = r.control.get<&flow_rule_control::type>();
  const bool ethernet = layers.ethernet(port);
  // Sniffers, mirrors and defaults belong to Ethernet ports. No source: chosen.
  if (!ethernet && type != flow_rule_type::regular)
    return wrong("type, which is one of Ethernet ports");
  if (!knows(type)) return wrong("type, which there is not");
  const rule_headers headers{from + flow_rule_control::bytes, bytes - flow_rule_control::bytes};
  // RoCE's multicast has a header of InfiniBand (Linux mcg.c mlx4_trans_to_dmfs_attach).
  if (!ethernet ||
      (type == flow_rule_type::regular && headers.next() == flow_header_id::infiniband)) {
    r.malformed = r.read_datagram_headers(headers);
    return r;
  }
  r.malformed = r.frames_.emplace().read(headers);
  if (r.malformed == nullptr && type == flow_rule_type::regular && r.frames_->none())
    return wrong("words of a regular rule without a header");
  return r;
}

/// Outermost first: the link's header, IPv4, TCP or UDP. Linux begins every rule of an InfiniBand
/// port with the link's header (mlx4_ib main.c default_table). For a queue pair of IPoIB it puts
/// one with QP 0 before its own (same file, __mlx4_ib_create_default_rules), and the rule must do
/// all the same: the last one counts. Inferred.
const char* flow_rule::read_datagram_headers(rule_headers from) {
  const auto link_follows = [&from] { return from.next() == flow_header_id::infiniband; };
  if (!link_follows()) return "id of the first header, which is not InfiniBand's";
  while (link_follows()) {
    const auto link = from.take<flow_header_infiniband>();
    if (!link) return "words or a reserved bit of the header for InfiniBand";
    infiniband_ = *link;
  }
  if (from.left == 0) return nullptr;
  // As for frames (frame_conditions.cpp).
  if (from.next() == flow_header_id::ipv6)
    return "id of the header for IPv6, whose form is unknown";
  ipv4_ = from.take<flow_header_ipv4>();
  if (!ipv4_ || ipv4_->get<&flow_header_ipv4::id>() != flow_header_id::ipv4)
    return "id, words or a reserved bit of the header for IPv4";
  if (from.left == 0) return nullptr;
  ports_ = from.take<flow_header_ports>();
  if (!ports_) return "words or a reserved bit of the header for TCP or UDP";
  if (from.left != 0) return "words behind the last header";
  const flow_header_id id = ports_->get<&flow_header_ports::id>();
  if (id != flow_header_id::tcp && id != flow_header_id::udp)
    return "id of the last header, which is not TCP's or UDP's";
  return nullptr;
}

bool flow_rule::takes(const frame_view& v) const {
  return malformed == nullptr && frames_ && frames_->hold(v);
}

bool flow_rule::takes(const flow& f) const {
  using ib = flow_header_infiniband;
  using ip = flow_header_ipv4;
  using l4 = flow_header_ports;
  if (malformed != nullptr || frames_) return false;
  if (!fits(f.qpn, infiniband_.get<&ib::qpn>(), infiniband_.get<&ib::qpn_mask>())) return false;
  const std::byte* mask = infiniband_.bytes_of<&ib::dgid_mask>();
  if (!is_empty(mask)) {
    if (f.dgid == nullptr) return false;
    const std::byte* wanted = infiniband_.bytes_of<&ib::dgid>();
    for (unsigned i = 0; i < 16; ++i)
      if (((f.dgid[i] ^ wanted[i]) & mask[i]) != std::byte{0}) return false;
  }
  if (ipv4_ &&
      (!f.ipv4 ||
       !fits(f.destination, ipv4_->get<&ip::destination>(), ipv4_->get<&ip::destination_mask>()) ||
       !fits(f.source, ipv4_->get<&ip::source>(), ipv4_->get<&ip::source_mask>())))
    return false;
  if (!ports_) return true;
  const bool tcp = ports_->get<&l4::id>() == flow_header_id::tcp;
  return f.protocol == (tcp ? ip_protocol_tcp : ip_protocol_udp) &&
         fits(f.destination_port, ports_->get<&l4::destination>(),
              ports_->get<&l4::destination_mask>()) &&
         fits(f.source_port, ports_->get<&l4::source>(), ports_->get<&l4::source_mask>());
}

flow_rule::key flow_rule::key::of_dgid(const std::byte* dgid) {
  key k{.what = kind::dgid};
  std::copy_n(dgid, 16, k.value.begin());
  return k;
}

flow_rule::key flow_rule::key::of_qpn(std::uint32_t qpn) {
  key k{.what = kind::qpn};
  store_be(k.value.data(), qpn);
  return k;
}

flow_rule::key flow_rule::key::of_mac(unsigned port, std::uint64_t mac) {
  key k{.what = kind::mac};
  // As it stands in an entry of the multicast table.
  image<mcg_ethernet_gid> gid;
  gid.set<&mcg_ethernet_gid::port>(port).set<&mcg_ethernet_gid::mac>(mac);
  std::copy_n(gid.data(), gid.size(), k.value.begin());
  return k;
}

flow_rule::key flow_rule::key::of(unsigned port, std::uint64_t mac,
                                  const frame_conditions::connection& c) {
  key k = of_mac(port, mac);
  k.what = kind::connection;
  std::byte* behind = k.value.data() + mcg_ethernet_gid::bytes;
  store_be(behind, c.source);
  store_be(behind + 4, c.destination);
  store_be(behind + 8, c.source_port);
  store_be(behind + 10, c.destination_port);
  behind[12] = static_cast<std::byte>(c.protocol);
  return k;
}

flow_rule::key flow_rule::key::of_port(kind what, unsigned port) {
  key k = of_mac(port, 0);
  k.what = what;
  return k;
}

flow_rule::key flow_rule::frame_found_by() const {
  const auto port = static_cast<unsigned>(control.get<&flow_rule_control::port>());
  switch (control.get<&flow_rule_control::type>()) {
    case flow_rule_type::all_default:
      return key::of_port(key::kind::all_default, port);
    case flow_rule_type::multicast_default:
      return key::of_port(key::kind::multicast_default, port);
    case flow_rule_type::unicast_sniffer:
      return key::of_port(key::kind::unicast_sniffer, port);
    case flow_rule_type::multicast_sniffer:
      return key::of_port(key::kind::multicast_sniffer, port);
    default:
      break;
  }
  const auto mac = frames_->destination();
  if (!mac) return key::of_port(key::kind::any_frame, port);
  const auto connection = frames_->one_connection();
  return connection ? key::of(port, *mac, *connection) : key::of_mac(port, *mac);
}

flow_rule::key flow_rule::found_by() const {
  if (frames_) return frame_found_by();
  using ib = flow_header_infiniband;
  if (is_exact(infiniband_.bytes_of<&ib::dgid_mask>()))
    return key::of_dgid(infiniband_.bytes_of<&ib::dgid>());
  if ((infiniband_.get<&ib::qpn_mask>() & qpn_mask) == qpn_mask)
    return key::of_qpn(static_cast<std::uint32_t>(infiniband_.get<&ib::qpn>()) & qpn_mask);
  return {};
}

}  // namespace freehca::model

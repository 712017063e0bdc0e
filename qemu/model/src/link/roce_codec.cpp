// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/roce_codec.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "link/roce_wire.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::size_t type_bytes = 2;

void store_mac(std::byte* to, std::uint64_t mac) {
  for (unsigned i = 0; i < 6; ++i) to[i] = static_cast<std::byte>(mac >> (40 - 8 * i) & 0xff);
}

constexpr std::uint16_t ethertype_of(roce_form v) {
  return v == roce_form::v1        ? ethertype::roce_v1
         : v == roce_form::v2_ipv4 ? ethertype::ipv4
                                   : ethertype::ipv6;
}

constexpr const char* name_of(roce_form v) {
  return v == roce_form::v1        ? "RoCE v1"
         : v == roce_form::v2_ipv4 ? "RoCE v2 over IPv4"
                                   : "RoCE v2 over IPv6";
}

/// Gives what is behind the Ethernet header.
std::byte* put_ethernet(std::byte* to, std::uint64_t destination, std::uint64_t source,
                        std::optional<std::uint16_t> tag, roce_form form) {
  store_mac(to + ethernet_addresses{}.dmac.offset, destination);
  store_mac(to + ethernet_addresses{}.smac.offset, source);
  to += ethernet_addresses::bytes;
  if (tag) {
    store_be<std::uint16_t>(to, ethertype::vlan);
    store_be(to + type_bytes, *tag);
    to += vlan_tag::bytes;
  }
  store_be(to, ethertype_of(form));
  return to + type_bytes;
}

/// `following`: bytes behind the header, with the ICRC.
std::byte* put_grh(std::byte* to, const path& way, const std::byte* sgid, std::uint8_t next,
                   std::size_t following) {
  image<grh> global;
  global.set<&grh::ip_version>(grh_ip_version)
      .set<&grh::traffic_class>(way.traffic_class)
      .set<&grh::flow_label>(way.flow_label & 0xfffff)
      .set<&grh::payload_length>(following)
      .set<&grh::next_header>(next)
      .set<&grh::hop_limit>(way.hop_limit)
      .set_bytes<&grh::sgid>(sgid)
      .set_bytes<&grh::dgid>(way.dgid.data());
  std::memcpy(to, global.data(), grh::bytes);
  return to + grh::bytes;
}

std::byte* put_ipv4(std::byte* to, const path& way, const std::byte* sgid, std::size_t following) {
  using ip = ipv4_header;
  image<ip> header;
  header.set<&ip::version>(4)
      .set<&ip::header_words>(ip::bytes / 4)
      .set<&ip::tos>(way.traffic_class)
      .set<&ip::total_length>(ip::bytes + following)
      .set<&ip::dont_fragment>(true)
      .set<&ip::ttl>(way.hop_limit)
      .set<&ip::protocol>(ip_protocol_udp)
      .set<&ip::source>(*mapped_address(sgid))
      .set<&ip::destination>(*mapped_address(way.dgid.data()));
  header.set<&ip::checksum>(ipv4_checksum(header));
  std::memcpy(to, header.data(), ip::bytes);
  return to + ip::bytes;
}

std::byte* put_udp(std::byte* to, const path& way, std::uint16_t port, std::size_t following) {
  image<udp_header> udp;
  udp.set<&udp_header::source_port>(way.udp_source_port)
      .set<&udp_header::destination_port>(port)
      .set<&udp_header::length>(udp_header::bytes + following);
  std::memcpy(to, udp.data(), udp_header::bytes);
  return to + udp_header::bytes;
}

/// Of a packet that unwrap() has taken.
roce_headers headers_of(const ingress& from) {
  // Its headers are whole: as many bytes are there as the longest have, or as these have.
  const std::size_t bytes =
      from.grh != nullptr
          ? static_cast<std::size_t>(from.grh - from.link_header) + grh::bytes + udp_header::bytes
          : static_cast<std::size_t>(from.ipv4 - from.link_header) + ipv4_header::bytes +
                udp_header::bytes;
  return *roce_headers::of({from.link_header, bytes});
}

}  // namespace

std::uint16_t roce_codec::udp_port(unsigned port) const {
  return own_.v2_udp_port(port).value_or(roce_v2_udp_port);
}

std::optional<roce_codec::near_end> roce_codec::near_gid(const path& way) const {
  const auto entry = own_.gid_at(way.port, way.sgid_index);
  if (!entry) {
    rules_.because("GID %u of port %u; wanted: an entry that is not empty", way.sgid_index,
                   way.port);
    return std::nullopt;
  }
  near_end here;
  here.gid = entry->gid;
  // A connection's version is its context's.
  const bool v2 = way.roce ? *way.roce == roce_mode::v2 : entry->version == roce_version::v2;
  const bool ipv4 = entry->version == roce_version::v2
                        ? !entry->ipv6
                        : mapped_address(here.gid.data()).has_value();
  here.form = !v2 ? roce_form::v1 : ipv4 ? roce_form::v2_ipv4 : roce_form::v2_ipv6;
  return here;
}

std::optional<roce_codec::near_end> roce_codec::near_end_of(const path& way) const {
  auto here = near_gid(way);
  if (!here) return here;
  if (here->form == roce_form::v2_ipv4 &&
      !(mapped_address(here->gid.data()) && mapped_address(way.dgid.data()))) {
    rules_.because("RoCE v2 over IPv4 by GID %u; wanted: mapped IPv4 addresses at both ends",
                   way.sgid_index);
    return std::nullopt;
  }
  const auto mac = own_.mac_at(way.port, way.smac_index);
  if (!mac) {
    rules_.because("MAC %u of port %u; wanted: an entry that is not empty", way.smac_index,
                   way.port);
    return std::nullopt;
  }
  here->mac = *mac;
  here->tag = way.vlan_tag;
  if (!way.vlan_index) return here;
  const auto vlan = own_.vlan_at(way.port, *way.vlan_index);
  if (!vlan) {
    rules_.because("VLAN %u of port %u; wanted: an entry that is not empty", *way.vlan_index,
                   way.port);
    return std::nullopt;
  }
  here->tag = static_cast<std::uint16_t>((way.priority & 7) << 13 | (*vlan & 0xfff));
  return here;
}

std::optional<outgoing_packet> roce_codec::wrap(const path& way, image<bth> transport,
                                                std::size_t extended_bytes,
                                                std::size_t payload_bytes) const {
  const auto here = near_end_of(way);
  if (!here) return std::nullopt;
  const bool v2 = here->form != roce_form::v1, ipv4 = here->form == roce_form::v2_ipv4;
  const std::size_t pad = (4 - payload_bytes % 4) % 4;
  const std::size_t network =
      ethernet_addresses::bytes + (here->tag ? vlan_tag::bytes : 0) + type_bytes;
  const std::size_t transport_bytes = bth::bytes + extended_bytes + payload_bytes + pad;

  outgoing_packet out;
  out.base = network + (ipv4 ? ipv4_header::bytes : grh::bytes) + (v2 ? udp_header::bytes : 0);
  out.extended = out.base + bth::bytes;
  out.payload = out.extended + extended_bytes;
  out.p.bytes = buffers_.take(out.base + transport_bytes);
  std::fill(out.p.bytes.end() - static_cast<std::ptrdiff_t>(pad), out.p.bytes.end(), std::byte{});
  std::byte* at = out.p.bytes.data();
  at = put_ethernet(at, way.dmac, here->mac, here->tag, here->form);
  const std::size_t covered = transport_bytes + icrc_bytes;
  const std::size_t following = covered + (v2 ? udp_header::bytes : 0);
  const std::byte* const sgid = here->gid.data();
  at = ipv4 ? put_ipv4(at, way, sgid, following)
            : put_grh(at, way, sgid, v2 ? ip_protocol_udp : grh_next_header_bth, following);
  if (v2) at = put_udp(at, way, udp_port(way.port), covered);
  transport.set<&bth::pad_count>(pad);
  std::memcpy(at, transport.data(), bth::bytes);
  return out;
}

std::optional<transport_packet> roce_codec::unwrap(unsigned port, const packet& p) const {
  const auto h = roce_headers::of(p.bytes);
  if (!h || !flaw_of(p.bytes, *h).empty() || h->end != p.bytes.size() + icrc_bytes)
    return std::nullopt;
  const std::byte* const bytes = p.bytes.data();
  auto v = transport_packet::at(bytes + h->base, p.bytes.size() - h->base);
  if (!v) return v;
  v->ingress = {.port = port, .codec = this, .link_header = bytes};
  if (h->form == roce_form::v2_ipv4) v->ingress.set_ipv4(bytes + h->network, h->sgid, h->dgid);
  else v->ingress.grh = bytes + h->network;
  return v;
}

std::string roce_codec::why_not(const packet& p) const {
  const auto h = roce_headers::of(p.bytes);
  if (!h) return "no RoCE: wanted EtherType 0x8915, or UDP over IP, and whole headers";
  if (const std::string flaw = flaw_of(p.bytes, *h); !flaw.empty()) return flaw;
  const std::size_t there = p.bytes.size() + icrc_bytes;
  if (h->end == there) return "BTH pad count above the payload (IBTA 9.2)";
  std::array<char, 120> text;
  std::snprintf(text.data(), text.size(), "%zu bytes by the network header; %zu are there",
                h->end - h->network, there - h->network);
  return text.data();
}

bool roce_codec::from_own_port(const ingress& from) const {
  return own_.own_mac(from.port, headers_of(from).source);
}

bool roce_codec::by_global_route(const ingress& from, const path& way) const {
  const auto here = near_gid(way);
  if (!here) return false;
  const roce_headers h = headers_of(from);
  if (h.form != here->form) {
    rules_.because_of_drop("%s; wanted: %s", name_of(h.form), name_of(here->form));
    return false;
  }
  if (h.dgid != here->gid) {
    rules_.because_of_drop("destination GID; wanted: that of index %u", way.sgid_index);
    return false;
  }
  if (h.sgid != way.dgid) {
    rules_.because_of_drop("source GID; wanted: that of the path");
    return false;
  }
  return true;
}

bool roce_codec::by_local_route(const ingress& from, const path& way) const {
  // A router changes the MACs, and a switch may change the tag: neither is compared (no source:
  // chosen).
  if (from.port == way.port) return true;
  rules_.because_of_drop("port %u; wanted: port %u", from.port, way.port);
  return false;
}

std::string roce_codec::sender(const ingress& from) const {
  std::array<char, 24> text;
  std::snprintf(text.data(), text.size(), "MAC %012llx",
                static_cast<unsigned long long>(headers_of(from).source));
  return text.data();
}

void roce_codec::put_addresses(const ingress& from, bool, image<cqe>& e) const {
  const roce_headers h = headers_of(from);
  auto said = image<cqe_smac>::from_bytes(e.data());
  said.set<&cqe_smac::grh>(true).set_bytes<&cqe_smac::smac>(from.link_header +
                                                            ethernet_addresses{}.smac.offset);
  if (h.tag) {
    const auto priority = h.tag->get<&vlan_tag::priority>();
    said.set<&cqe_smac::cvlan_present>(true)
        .set<&cqe_smac::sl>(priority << 1 | std::uint64_t{h.tag->get<&vlan_tag::dei>()})
        .set<&cqe_smac::vid>(h.tag->get<&vlan_tag::vid>());
  }
  e = image<cqe>::from_bytes(said.data());
}

std::size_t roce_codec::prepared_bytes_max() const {
  return ethernet_addresses::bytes + vlan_tag::bytes + type_bytes + grh::bytes + udp_header::bytes +
         bth::bytes + deth::bytes + immdt::bytes + 4096 + icrc_bytes;
}

prepared_verdict roce_codec::finish(const prepared_send& by, outgoing_packet& out) const {
  auto& bytes = out.p.bytes;
  const std::size_t gathered = bytes.size();
  std::array<std::byte, icrc_bytes> last{};
  if (gathered >= icrc_bytes) std::copy_n(bytes.end() - icrc_bytes, icrc_bytes, last.begin());
  bytes.resize(gathered - std::min<std::size_t>(gathered, icrc_bytes));
  const auto h = roce_headers::of(bytes);
  if (!h) return prepared_verdict::no_packet;
  // Padding that the headers announce and the list leaves out.
  if (h->end > gathered && h->end - gathered < 4) bytes.resize(h->end - icrc_bytes);
  const auto v = unwrap(by.port, out.p);
  if (!v) return prepared_verdict::no_packet;
  out.extended = static_cast<std::size_t>(v->rest - bytes.data());
  out.base = out.extended - bth::bytes;
  const auto control = image<wqe_ctrl_ethernet>::from_bytes(by.control.data());
  return control.get<&wqe_ctrl_ethernet::no_icrc>() && !is_roce_icrc_of(out.p, last.data())
             ? prepared_verdict::wrong_icrc
             : prepared_verdict::good;
}

}  // namespace freehca::model

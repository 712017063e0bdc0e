// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/wire.hpp"

#include <cstdio>

namespace freehca::model {

using namespace layouts;

frame make_frame(const port_addresses& from, const path& way, image<bth> transport,
                 std::size_t extended_bytes, std::size_t payload_bytes) {
  const std::size_t pad = (4 - payload_bytes % 4) % 4;
  const std::size_t route = lrh::bytes + (way.global ? grh::bytes : 0);
  const std::size_t transport_bytes = bth::bytes + extended_bytes + payload_bytes + pad;

  frame f;
  f.extended = route + bth::bytes;
  f.payload = f.extended + extended_bytes;
  f.p.bytes.resize(route + transport_bytes);

  image<lrh> local;
  local.set<&lrh::service_level>(way.sl & 0xf)
      .set<&lrh::lnh>(way.global ? link_next_header::iba_global : link_next_header::iba_local)
      .set<&lrh::dlid>(way.dlid)
      .set<&lrh::slid>(from.source_lid(way.port, way.path_bits))
      .set<&lrh::packet_length>((route + transport_bytes + icrc_bytes) / 4 & 0x7ff);
  std::memcpy(f.p.bytes.data(), local.data(), lrh::bytes);

  if (way.global) {
    image<grh> global;
    std::byte sgid[16]{};
    from.gid(way.port, way.sgid_index, sgid);
    global.set<&grh::ip_version>(grh_ip_version)
        .set<&grh::traffic_class>(way.traffic_class)
        .set<&grh::flow_label>(way.flow_label & 0xfffff)
        .set<&grh::payload_length>(transport_bytes + icrc_bytes)
        .set<&grh::next_header>(grh_next_header_bth)
        .set<&grh::hop_limit>(way.hop_limit)
        .set_bytes<&grh::sgid>(sgid)
        .set_bytes<&grh::dgid>(way.dgid.data());
    std::memcpy(f.p.bytes.data() + lrh::bytes, global.data(), grh::bytes);
  }

  transport.set<&bth::pad_count>(pad);
  std::memcpy(f.p.bytes.data() + route, transport.data(), bth::bytes);
  return f;
}

std::optional<packet_view> packet_view::of(const packet& p) {
  packet_view v;
  const std::byte* at = p.bytes.data();
  std::size_t left = p.bytes.size();
  if (left < lrh::bytes + bth::bytes) return std::nullopt;
  v.lrh = image<layouts::lrh>::from_bytes(at);
  const link_next_header next = v.lrh.get<&lrh::lnh>();
  if (next != link_next_header::iba_local && next != link_next_header::iba_global)
    return std::nullopt;
  if (v.lrh.get<&lrh::packet_length>() * 4 != left + icrc_bytes) return std::nullopt;
  at += lrh::bytes;
  left -= lrh::bytes;
  if (next == link_next_header::iba_global) {
    if (left < grh::bytes + bth::bytes) return std::nullopt;
    v.global = true;
    v.grh = at;
    // qib_verbs.c qib_ib_rcv drops what is no IBA transport; neither it nor rxe looks at the other
    // fields here.
    const auto global = image<layouts::grh>::from_bytes(at);
    if (global.get<&layouts::grh::ip_version>() != grh_ip_version ||
        global.get<&layouts::grh::next_header>() != grh_next_header_bth)
      return std::nullopt;
    at += grh::bytes;
    left -= grh::bytes;
  }
  v.bth = image<layouts::bth>::from_bytes(at);
  const auto pad = static_cast<std::size_t>(v.bth.get<&bth::pad_count>());
  if (left < bth::bytes + pad) return std::nullopt;
  v.rest = at + bth::bytes;
  v.rest_bytes = left - bth::bytes - pad;
  return v;
}

std::string packet_view::why_not(const packet& p) {
  const auto said = [](const char* format, auto... values) {
    std::array<char, 120> text;
    std::snprintf(text.data(), text.size(), format, values...);
    return std::string(text.data());
  };
  const std::byte* at = p.bytes.data();
  const std::size_t bytes = p.bytes.size();
  if (bytes < lrh::bytes + bth::bytes)
    return said("%zu bytes; wanted: an LRH and a BTH, %zu at least", bytes,
                lrh::bytes + bth::bytes);
  const auto link = image<layouts::lrh>::from_bytes(at);
  const link_next_header next = link.get<&lrh::lnh>();
  if (next != link_next_header::iba_local && next != link_next_header::iba_global)
    return said("LRH next header %u; wanted: 2 or 3, a BTH or a GRH (IBTA 5.2)",
                static_cast<unsigned>(next));
  const auto words = static_cast<unsigned>(link.get<&lrh::packet_length>());
  if (words * std::size_t{4} != bytes + icrc_bytes)
    return said("LRH length of %u words; wanted: of %zu bytes with the ICRC", words,
                bytes + icrc_bytes);
  if (next == link_next_header::iba_global) {
    if (bytes < lrh::bytes + grh::bytes + bth::bytes)
      return said("LRH next header 3, and %zu bytes; wanted: a GRH and a BTH", bytes);
    const auto global = image<layouts::grh>::from_bytes(at + lrh::bytes);
    const auto version = static_cast<unsigned>(global.get<&layouts::grh::ip_version>());
    if (version != grh_ip_version)
      return said("GRH version %u; wanted: %u (IBTA 8.3)", version, unsigned{grh_ip_version});
    const auto header = static_cast<unsigned>(global.get<&layouts::grh::next_header>());
    if (header != grh_next_header_bth)
      return said("GRH next header 0x%02x; wanted: 0x%02x (IBTA 8.3)", header,
                  unsigned{grh_next_header_bth});
  }
  return "BTH pad count above the payload (IBTA 9.2)";
}

}  // namespace freehca::model

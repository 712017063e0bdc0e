// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/infiniband_codec.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <freehca/layouts/ib_types.hpp>

#include "link/global_route.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

image<lrh> local_route(const ingress& from) {
  return image<lrh>::from_bytes(from.link_header);
}

std::uint16_t slid_of(const ingress& from) {
  return static_cast<std::uint16_t>(local_route(from).get<&lrh::slid>());
}

}  // namespace

std::optional<outgoing_packet> infiniband_codec::wrap(const path& way, image<bth> transport,
                                                      std::size_t extended_bytes,
                                                      std::size_t payload_bytes) const {
  const std::size_t pad = (4 - payload_bytes % 4) % 4;
  const std::size_t route = lrh::bytes + (way.global ? grh::bytes : 0);
  const std::size_t transport_bytes = bth::bytes + extended_bytes + payload_bytes + pad;

  outgoing_packet out;
  out.base = route;
  out.extended = route + bth::bytes;
  out.payload = out.extended + extended_bytes;
  out.p.bytes = buffers_.take(route + transport_bytes);
  std::fill(out.p.bytes.end() - static_cast<std::ptrdiff_t>(pad), out.p.bytes.end(), std::byte{});

  image<lrh> local;
  local.set<&lrh::service_level>(way.sl & 0xf)
      .set<&lrh::lnh>(way.global ? link_next_header::iba_global : link_next_header::iba_local)
      .set<&lrh::dlid>(way.dlid)
      .set<&lrh::slid>(own_.source_lid(way.port, way.path_bits))
      .set<&lrh::packet_length>((route + transport_bytes + icrc_bytes) / 4 & 0x7ff);
  std::byte* const bytes = out.p.bytes.data();
  std::memcpy(bytes, local.data(), lrh::bytes);
  if (way.global) write_global_route(bytes + lrh::bytes, own_, way, transport_bytes + icrc_bytes);
  transport.set<&bth::pad_count>(pad);
  std::memcpy(bytes + route, transport.data(), bth::bytes);
  return out;
}

std::optional<transport_packet> infiniband_codec::unwrap(unsigned port, const packet& p) const {
  const std::byte* at = p.bytes.data();
  std::size_t left = p.bytes.size();
  if (left < lrh::bytes + bth::bytes) return std::nullopt;
  ingress from{.port = port, .codec = this, .link_header = at};
  const image<lrh> local = local_route(from);
  const link_next_header next = local.get<&lrh::lnh>();
  if (next != link_next_header::iba_local && next != link_next_header::iba_global)
    return std::nullopt;
  if (local.get<&lrh::packet_length>() * 4 != left + icrc_bytes) return std::nullopt;
  at += lrh::bytes;
  left -= lrh::bytes;
  if (next == link_next_header::iba_global) {
    if (left < grh::bytes + bth::bytes || !is_global_route(at)) return std::nullopt;
    from.grh = at;
    at += grh::bytes;
    left -= grh::bytes;
  }
  auto v = transport_packet::at(at, left);
  if (v) v->ingress = from;
  return v;
}

std::string infiniband_codec::why_not(const packet& p) const {
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
  const auto local = image<lrh>::from_bytes(at);
  const link_next_header next = local.get<&lrh::lnh>();
  if (next != link_next_header::iba_local && next != link_next_header::iba_global)
    return said("LRH next header %u; wanted: 2 or 3, a BTH or a GRH (IBTA 5.2)",
                static_cast<unsigned>(next));
  const auto words = static_cast<unsigned>(local.get<&lrh::packet_length>());
  if (words * std::size_t{4} != bytes + icrc_bytes)
    return said("LRH length of %u words; wanted: of %zu bytes with the ICRC", words,
                bytes + icrc_bytes);
  if (next == link_next_header::iba_global) {
    if (bytes < lrh::bytes + grh::bytes + bth::bytes)
      return said("LRH next header 3, and %zu bytes; wanted: a GRH and a BTH", bytes);
    if (!is_global_route(at + lrh::bytes)) return why_no_global_route(at + lrh::bytes);
  }
  return "BTH pad count above the payload (IBTA 9.2)";
}

bool infiniband_codec::from_own_port(const ingress& from) const {
  return own_.own_lid(from.port, slid_of(from));
}

bool infiniband_codec::by_global_route(const ingress& from, const path& way) const {
  return comes_by_global_route(from, way, own_, rules_);
}

bool infiniband_codec::by_local_route(const ingress& from, const path& way) const {
  const unsigned source = slid_of(from);
  if (source == way.dlid && from.port == way.port) return true;
  rules_.because_of_drop("source LID 0x%x, port %u; wanted: LID 0x%x, port %u", source, from.port,
                         unsigned{way.dlid}, way.port);
  return false;
}

std::string infiniband_codec::sender(const ingress& from) const {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "LID 0x%x", unsigned{slid_of(from)});
  return text.data();
}

void infiniband_codec::put_addresses(const ingress& from, bool datagram, image<cqe>& e) const {
  const image<lrh> local = local_route(from);
  const auto dlid = static_cast<std::uint16_t>(local.get<&lrh::dlid>());
  // A multicast LID has no path bits.
  const bool path_bits = datagram && dlid < first_multicast_lid;
  e.set<&cqe::grh>(from.global())
      .set<&cqe::my_lid_path>(path_bits ? (dlid - own_.base_lid(from.port)) & 0x7f : 0)
      .set<&cqe::sl>(local.get<&lrh::service_level>())
      .set<&cqe::slid>(local.get<&lrh::slid>());
}

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/packets/packet_crc.hpp>

#include <array>
#include <cstring>

#include <freehca/layouts/headers.hpp>

#include <freehca/packets/crc.hpp>

namespace freehca::packets {

using namespace layouts;

namespace {

constexpr auto icrc_tables = make_crc_tables<std::uint32_t>(icrc_polynomial);
constexpr auto vcrc_tables = make_crc_tables<std::uint16_t>(vcrc_polynomial);

}  // namespace

std::uint32_t invariant_crc(std::span<const std::byte> packet) {
  std::array<std::byte, lrh::bytes + grh::bytes + bth::bytes> headers;
  auto link = image<lrh>::from_bytes(packet.data());
  const bool global = link.get<&lrh::lnh>() == link_next_header::iba_global;
  std::size_t at = lrh::bytes;
  if (global) {
    // Routers write a new LRH.
    std::memset(headers.data(), 0xff, lrh::bytes);
    auto route = image<grh>::from_bytes(packet.data() + at);
    route.set<&grh::traffic_class>(0xff).set<&grh::flow_label>(0xfffff).set<&grh::hop_limit>(0xff);
    std::memcpy(headers.data() + at, route.data(), grh::bytes);
    at += grh::bytes;
  } else {
    link.set<&lrh::virtual_lane>(0xf);
    std::memcpy(headers.data(), link.data(), lrh::bytes);
  }
  auto base = image<bth_variant>::from_bytes(packet.data() + at);
  base.set<&bth_variant::resv8a>(0xff);
  std::memcpy(headers.data() + at, base.data(), bth::bytes);
  at += bth::bytes;
  return invariant_crc(std::span<const std::byte>(headers.data(), at), packet.subspan(at));
}

std::uint32_t invariant_crc(std::span<const std::byte> headers, std::span<const std::byte> rest) {
  return ~advance_crc(icrc_tables, advance_crc(icrc_tables, ~std::uint32_t{0}, headers), rest);
}

std::uint16_t variant_crc(std::span<const std::byte> packet) {
  return static_cast<std::uint16_t>(~advance_crc(vcrc_tables, std::uint16_t{0xffff}, packet));
}

}  // namespace freehca::packets

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/packets/link_packets.hpp>

#include <algorithm>
#include <array>

#include <freehca/packets/packet_crc.hpp>

namespace freehca::packets {

using namespace layouts;

namespace {

std::array<std::byte, vcrc_bytes> crc_of(const image<link_packet>& p) {
  const std::uint16_t crc = variant_crc({p.data(), link_packet::bytes - vcrc_bytes});
  return {static_cast<std::byte>(crc & 0xff), static_cast<std::byte>(crc >> 8)};
}

}  // namespace

void seal(image<link_packet>& p) {
  p.set_bytes<&link_packet::lpcrc>(crc_of(p).data());
}

std::optional<image<link_packet>> link_packet_of(std::span<const std::byte> bytes) {
  if (bytes.size() != link_packet::bytes) return std::nullopt;
  const auto p = image<link_packet>::from_bytes(bytes.data());
  if (!std::ranges::equal(crc_of(p), std::span(p.bytes_of<&link_packet::lpcrc>(), vcrc_bytes)))
    return std::nullopt;
  return p;
}

}  // namespace freehca::packets

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/packet_crc.hpp"

#include <array>
#include <bit>
#include <cstring>

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

namespace {

/// Eight bytes at a time: every packet on a cable passes here twice.
constexpr std::size_t stride = 8;

template <class Word>
using crc_tables = std::array<std::array<Word, 256>, stride>;

/// Table n takes a byte to what it does to the CRC n bytes later.
template <class Word>
constexpr crc_tables<Word> make_tables(Word polynomial) {
  crc_tables<Word> t{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto crc = static_cast<Word>(byte);
    for (unsigned bit = 0; bit < 8; ++bit)
      crc = static_cast<Word>((crc >> 1) ^ ((crc & 1) != 0 ? polynomial : Word{0}));
    t[0][byte] = crc;
  }
  for (std::size_t n = 1; n < stride; ++n)
    for (unsigned byte = 0; byte < 256; ++byte) {
      const Word before = t[n - 1][byte];
      t[n][byte] = static_cast<Word>((before >> 8) ^ t[0][before & 0xff]);
    }
  return t;
}

constexpr auto icrc_tables = make_tables<std::uint32_t>(icrc_polynomial);
constexpr auto vcrc_tables = make_tables<std::uint16_t>(vcrc_polynomial);

std::uint64_t load_little_endian(const std::byte* p) {
  std::uint64_t w;
  std::memcpy(&w, p, sizeof w);
  return std::endian::native == std::endian::little ? w : swap_bytes(w);
}

template <class Word>
Word advance(const crc_tables<Word>& t, Word crc, std::span<const std::byte> over) {
  const std::byte* p = over.data();
  std::size_t left = over.size();
  for (; left >= stride; p += stride, left -= stride) {
    const std::uint64_t w = load_little_endian(p) ^ crc;
    crc = 0;
    for (std::size_t n = 0; n < stride; ++n)
      crc = static_cast<Word>(crc ^ t[stride - 1 - n][w >> (8 * n) & 0xff]);
  }
  for (; left > 0; ++p, --left)
    crc = static_cast<Word>((crc >> 8) ^ t[0][(crc ^ std::to_integer<unsigned>(*p)) & 0xff]);
  return crc;
}

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
  return ~advance(icrc_tables, advance(icrc_tables, ~std::uint32_t{0}, headers), rest);
}

std::array<std::byte, 4> frame_check_sequence(std::span<const std::byte> frame) {
  std::uint32_t crc = ~advance(icrc_tables, ~std::uint32_t{0}, frame);
  std::array<std::byte, 4> bytes{};
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(crc & 0xff);
    crc >>= 8;
  }
  return bytes;
}

std::uint16_t variant_crc(std::span<const std::byte> packet) {
  return static_cast<std::uint16_t>(~advance(vcrc_tables, std::uint16_t{0xffff}, packet));
}

}  // namespace freehca::model

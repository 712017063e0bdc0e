// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Cyclic redundancy checks whose least significant bit comes first.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <freehca/layouts/layout.hpp>

namespace freehca::packets {

/// Eight bytes at a time: every packet on a cable passes here twice.
inline constexpr std::size_t crc_stride = 8;

template <class Word>
using crc_tables = std::array<std::array<Word, 256>, crc_stride>;

/// Table n takes a byte to what it does to the CRC n bytes later.
template <class Word>
constexpr crc_tables<Word> make_crc_tables(Word polynomial) {
  crc_tables<Word> t{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    auto crc = static_cast<Word>(byte);
    for (unsigned bit = 0; bit < 8; ++bit)
      crc = static_cast<Word>((crc >> 1) ^ ((crc & 1) != 0 ? polynomial : Word{0}));
    t[0][byte] = crc;
  }
  for (std::size_t n = 1; n < crc_stride; ++n)
    for (unsigned byte = 0; byte < 256; ++byte) {
      const Word before = t[n - 1][byte];
      t[n][byte] = static_cast<Word>((before >> 8) ^ t[0][before & 0xff]);
    }
  return t;
}

inline std::uint64_t load_little_endian(const std::byte* p) {
  std::uint64_t w;
  std::memcpy(&w, p, sizeof w);
  return std::endian::native == std::endian::little ? w : layouts::swap_bytes(w);
}

template <class Word>
Word advance_crc(const crc_tables<Word>& t, Word crc, std::span<const std::byte> over) {
  const std::byte* p = over.data();
  std::size_t left = over.size();
  for (; left >= crc_stride; p += crc_stride, left -= crc_stride) {
    const std::uint64_t w = load_little_endian(p) ^ crc;
    crc = 0;
    for (std::size_t n = 0; n < crc_stride; ++n)
      crc = static_cast<Word>(crc ^ t[crc_stride - 1 - n][w >> (8 * n) & 0xff]);
  }
  for (; left > 0; ++p, --left)
    crc = static_cast<Word>((crc >> 8) ^ t[0][(crc ^ std::to_integer<unsigned>(*p)) & 0xff]);
  return crc;
}

}  // namespace freehca::packets

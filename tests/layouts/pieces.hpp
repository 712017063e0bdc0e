// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Comparison of a structure with stores that were worked out by hand from the sources: what is
// listed must stand at its offset, and every other byte must be zero.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iomanip>
#include <sstream>
#include <vector>

#include <freehca/layouts/layout.hpp>

namespace pieces {

/// Bytes at an offset, as a driver's 8-, 16-, 32- or 64-bit big-endian store there puts them.
struct piece {
  std::size_t offset;
  std::vector<std::uint8_t> bytes;
};
inline piece u8(std::size_t offset, std::uint8_t v) { return {offset, {v}}; }
inline piece number(std::size_t offset, std::uint64_t v, unsigned size) {
  piece p{offset, {}};
  while (size-- > 0) p.bytes.push_back(static_cast<std::uint8_t>(v >> 8 * size));
  return p;
}
inline piece be16(std::size_t offset, std::uint16_t v) { return number(offset, v, 2); }
inline piece be32(std::size_t offset, std::uint32_t v) { return number(offset, v, 4); }
inline piece be64(std::size_t offset, std::uint64_t v) { return number(offset, v, 8); }

/// The structure that consists of these pieces. They are or-ed into zeros, so that flags of one
/// word can be listed one by one.
template <class T>
freehca::layouts::image<T> made_of(std::initializer_list<piece> list) {
  std::vector<std::byte> all(T::bytes);
  for (const piece& p : list)
    for (std::size_t i = 0; i < p.bytes.size(); ++i) all.at(p.offset + i) |= static_cast<std::byte>(p.bytes[i]);
  return freehca::layouts::image<T>::from_bytes(all.data());
}

/// Whether the structure consists of exactly these pieces, in bits that its table claims.
template <class T>
testing::AssertionResult holds(const freehca::layouts::image<T>& i, std::initializer_list<piece> list) {
  const freehca::layouts::image<T> want = made_of<T>(list);
  std::ostringstream difference;
  difference << std::hex << std::setfill('0');
  for (std::size_t n = 0; n < T::bytes; ++n)
    if (i.data()[n] != want.data()[n])
      difference << " [0x" << n << "] is " << std::setw(2) << std::to_integer<unsigned>(i.data()[n]) << ", not "
                 << std::setw(2) << std::to_integer<unsigned>(want.data()[n]) << ';';
  if (!difference.str().empty()) return testing::AssertionFailure() << difference.str();
  if (!i.reserved_clear()) return testing::AssertionFailure() << "a reserved bit is set";
  return testing::AssertionSuccess();
}

}  // namespace pieces

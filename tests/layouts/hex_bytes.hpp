// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Golden bytes of tables, written as hex and compared byte by byte.
#pragma once

#include <string>
#include <string_view>

#include <freehca/layouts/layout.hpp>

namespace hex_bytes {

/// The image whose bytes are `hex` (spaces are ignored), from byte `offset` on; all other bytes are
/// zero.
template <class T>
freehca::layouts::image<T> bytes(std::string_view hex, std::size_t offset = 0) {
  freehca::layouts::image<T> i;
  std::size_t nibble = 2 * offset;
  for (const char c : hex) {
    if (c == ' ') continue;
    const unsigned v = static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (nibble / 2 >= T::bytes) break;
    i.data()[nibble / 2] |= static_cast<std::byte>(nibble % 2 == 0 ? v << 4 : v);
    ++nibble;
  }
  return i;
}

/// The bytes of an image as hex, in groups of four: what a failed comparison prints.
template <class T>
std::string hex(const freehca::layouts::image<T>& i) {
  static constexpr char digit[] = "0123456789abcdef";
  std::string s;
  for (std::size_t n = 0; n < T::bytes; ++n) {
    if (n != 0 && n % 4 == 0) s += ' ';
    s += digit[std::to_integer<unsigned>(i.data()[n]) >> 4];
    s += digit[std::to_integer<unsigned>(i.data()[n]) & 15];
  }
  return s;
}

}  // namespace hex_bytes

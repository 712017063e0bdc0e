// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "choices.hpp"

#include <array>

namespace freehca::fuzz {

std::uint32_t amount(input& from) {
  constexpr std::array<std::uint32_t, 8> borders{4096,           16384,    65535,       1u << 20,
                                                 (1u << 30) + 1, 1u << 31, 0x7fff'ffff, ~0u};
  const unsigned which = from.byte();
  if (which < 0xe0) return which < 0x80 ? which % 32 : (which - 0x80) * 8;
  return borders[which % 8] - which / 8 % 2;
}

std::uint64_t any_number(input& from) {
  const unsigned which = from.byte();
  if (which < 0x80) return amount(from);
  if (which < 0xc0) return std::uint64_t{1} << which % 64;
  return std::uint64_t{from.word()} << 32 | from.word();
}

}  // namespace freehca::fuzz

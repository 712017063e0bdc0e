// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Rows as bits of the 64-bit word that they stand in, for paths that build and read structures a
// word at a time: a constant folds into the word, and the tables stay the only truth. A word's
// value is big-endian in memory, as a row's is.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// The number of the lowest bit of row M in its word, the eight bytes that begin at M's offset
/// rounded down to a multiple of eight.
template <auto M>
inline constexpr unsigned word_shift = [] {
  constexpr const bits& b = row_of<M>;
  static_assert(!b.is_raw() && (b.hi < 32 || b.offset % 8 == 0) &&
                    !decltype(detail::field_of(M))::in_place,
                "a row of one aligned 64-bit word is wanted, whose values do not stand in place");
  return static_cast<unsigned>(b.lo) + (b.hi < 32 && b.offset % 8 == 0 ? 32u : 0u);
}();

/// Value `v` of row M, where it stands in its word. Trusts its caller that the row holds it.
template <auto M>
[[gnu::always_inline]] constexpr std::uint64_t in_word(std::uint64_t v) {
  return v << word_shift<M>;
}

/// The value of row M in its word.
template <auto M>
[[gnu::always_inline]] constexpr std::uint64_t from_word(std::uint64_t word) {
  constexpr const bits& b = row_of<M>;
  return word >> word_shift<M> & b.mask();
}

/// The bit of a one-bit row M in its word as the word stands in memory, read by this machine: what
/// is only tested needs no swap.
template <auto M>
inline constexpr std::uint64_t bit_in_memory = [] {
  constexpr const bits& b = row_of<M>;
  static_assert(b.hi == b.lo, "a row of one bit is wanted");
  return swap_be(std::uint64_t{1} << word_shift<M>);
}();

}  // namespace freehca::layouts

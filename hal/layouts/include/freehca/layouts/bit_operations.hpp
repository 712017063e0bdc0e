// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bit>
#include <cstdint>

// A processor without instructions for these: riscv64 before the Zbb extension. There the builtins
// and <bit> are calls into the compiler's library, which the core does without.
#if defined(__riscv) && !defined(__riscv_zbb)
#define FREEHCA_BIT_INSTRUCTIONS 0
#else
#define FREEHCA_BIT_INSTRUCTIONS 1
#endif

namespace freehca::layouts {

/// The bytes of a word in the opposite order.
template <class W>
[[gnu::always_inline]] constexpr W swap_bytes(W w) {
  static_assert(sizeof(W) == 2 || sizeof(W) == 4 || sizeof(W) == 8);
#if FREEHCA_BIT_INSTRUCTIONS
  if constexpr (sizeof(W) == 8) return static_cast<W>(__builtin_bswap64(static_cast<std::uint64_t>(w)));
  else if constexpr (sizeof(W) == 4) return static_cast<W>(__builtin_bswap32(static_cast<std::uint32_t>(w)));
  else return static_cast<W>(__builtin_bswap16(static_cast<std::uint16_t>(w)));
#else
  // Neighbouring bytes change places, then pairs, then fours.
  auto v = static_cast<std::uint64_t>(w);
  v = (v & 0x00ff00ff00ff00ff) << 8 | (v >> 8 & 0x00ff00ff00ff00ff);
  if constexpr (sizeof(W) == 2) return static_cast<W>(v);
  v = (v & 0x0000ffff0000ffff) << 16 | (v >> 16 & 0x0000ffff0000ffff);
  if constexpr (sizeof(W) == 4) return static_cast<W>(v);
  return static_cast<W>(v << 32 | v >> 32);
#endif
}

/// A word of the host as big-endian memory has it, and back.
template <class W>
[[gnu::always_inline]] constexpr W swap_be(W w) {
  if constexpr (std::endian::native == std::endian::big) return w;
  else return swap_bytes(w);
}

/// How many bits it takes to write the number: 0 for 0.
[[gnu::always_inline]] constexpr unsigned bit_width(std::uint64_t v) {
#if FREEHCA_BIT_INSTRUCTIONS
  return static_cast<unsigned>(std::bit_width(v));
#else
  unsigned n = v != 0 ? 1 : 0;
  for (unsigned half = 32; half != 0; half /= 2)
    if (v >> half != 0) {
      v >>= half;
      n += half;
    }
  return n;
#endif
}

/// The number of the lowest bit that is set; 64 for 0.
[[gnu::always_inline]] constexpr unsigned lowest_bit(std::uint64_t v) {
#if FREEHCA_BIT_INSTRUCTIONS
  return static_cast<unsigned>(std::countr_zero(v));
#else
  return v == 0 ? 64 : bit_width(v & (~v + 1)) - 1;
#endif
}

static_assert(swap_bytes<std::uint16_t>(0x0102) == 0x0201);
static_assert(swap_bytes<std::uint32_t>(0x01020304) == 0x04030201);
static_assert(swap_bytes<std::uint64_t>(0x0102030405060708) == 0x0807060504030201);
static_assert(bit_width(0) == 0 && bit_width(1) == 1 && bit_width(0x80) == 8 && bit_width(~std::uint64_t{0}) == 64);
static_assert(lowest_bit(0) == 64 && lowest_bit(1) == 0 && lowest_bit(0xa0) == 5 &&
              lowest_bit(std::uint64_t{1} << 63) == 63);

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// CRCs by carry-less multiplication, where the processor has it (V. Gopal and others, "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <freehca/packets/crc.hpp>

namespace freehca::packets {

/// Bytes that are folded at a time.
inline constexpr std::size_t fold_block = 16;

/// Factors that move a block's two halves one block further: powers of x modulo the polynomial. Bit
/// 63 - n has the coefficient of x to the power of n.
struct fold_factors {
  std::uint64_t first, second;
};

/// x to the power of `exponent`, modulo a polynomial of 32 coefficients below the first one. A
/// shorter polynomial is one of these times a power of x.
constexpr std::uint64_t power_of_x(std::uint32_t polynomial, unsigned exponent) {
  std::uint32_t power = 0x8000'0000;
  for (; exponent != 0; --exponent) power = power >> 1 ^ ((power & 1) != 0 ? polynomial : 0);
  return std::uint64_t{power} << 32;
}

/// A product of two such factors is one power of x short.
constexpr fold_factors make_fold_factors(std::uint32_t polynomial) {
  return {power_of_x(polynomial, 8 * fold_block + 63), power_of_x(polynomial, 8 * fold_block - 1)};
}

/// Bits at the front of a packet that the CRC takes as ones. Zeros follow them for two blocks, for
/// readers of whole blocks.
struct fold_mask {
  const std::byte* ones = nullptr;
  std::size_t bytes = 0;
};

/// Whether this processor can fold.
bool can_fold();

/// Writes the block that has the same CRC, begun with zeros, as `packet` has, begun with the bytes
/// of `begun` from the least significant on. `packet` is a block long at least, and as many bytes
/// longer than whole blocks as `begun` has, or none. Only where can_fold().
void fold(const fold_factors& by, std::uint32_t begun, const fold_mask& mask,
          std::span<const std::byte> packet, std::byte* to);

}  // namespace freehca::packets

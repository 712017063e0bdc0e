// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_layout.hpp"

namespace freehca::wires::shm {

/// A position in a ring, in units of 8 bytes; modulo 2^24.
inline constexpr std::size_t unit_bytes = 8;
inline constexpr std::uint32_t ring_units = ring_bytes / unit_bytes;
inline constexpr std::uint32_t position_mask = 0xff'ffff;
static_assert(ring_units < position_mask / 2);

/// Units between two positions.
constexpr std::uint32_t units_between(std::uint32_t from, std::uint32_t to) {
  return (to - from) & position_mask;
}

/// The number of a life in a ring_word. The same while the slot is taken and after its port has
/// left, until the next port takes the slot.
constexpr std::uint16_t life_number(std::uint32_t life) {
  return static_cast<std::uint16_t>((life - 1) >> 1);
}

/// A ring's head or tail, which is one 64-bit word so that both sides agree on which lives it is
/// of. Words of other lives are as good as none: a ring begins empty, at position 0.
///
/// | bits | content |
/// | --- | --- |
/// | 63:48 | life_number() of the producer |
/// | 47:32 | life_number() of the consumer |
/// | 31:24 | counts how often the producer has begun again in this pair of lives |
/// | 23:0 | position |
struct ring_word {
  std::uint64_t value = 0;

  static constexpr ring_word of(std::uint32_t producer_life, std::uint32_t consumer_life) {
    return {std::uint64_t{life_number(producer_life)} << 48 |
            std::uint64_t{life_number(consumer_life)} << 32};
  }
  constexpr std::uint16_t producer() const { return static_cast<std::uint16_t>(value >> 48); }
  constexpr std::uint16_t consumer() const { return static_cast<std::uint16_t>(value >> 32); }
  constexpr std::uint32_t position() const {
    return static_cast<std::uint32_t>(value) & position_mask;
  }
  constexpr ring_word at(std::uint32_t position) const {
    return {(value & ~std::uint64_t{position_mask}) | (position & position_mask)};
  }
  constexpr ring_word advanced(std::uint32_t units) const { return at(position() + units); }
  /// Position 0 of the next count.
  constexpr ring_word begun_again() const {
    const std::uint64_t count = ((value >> 24) + 1) & 0xff;
    return {(value & ~std::uint64_t{0xffff'ffff}) | count << 24};
  }
  /// Whether both words are of the same lives and count.
  constexpr bool same_ring(ring_word other) const { return (value ^ other.value) >> 24 == 0; }
  constexpr bool same_lives(ring_word other) const { return (value ^ other.value) >> 32 == 0; }
};

}  // namespace freehca::wires::shm

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

// Packet sequence numbers: 24 bits, compared by their distance around the circle (IBTA vol. 1,
// 9.7.1).
inline constexpr std::uint32_t psn_mask = 0xffffff;

constexpr std::uint32_t psn_add(std::uint32_t a, std::uint32_t n) {
  return (a + n) & psn_mask;
}
constexpr std::uint32_t psn_before(std::uint32_t a) {
  return (a - 1) & psn_mask;
}

/// How far `a` is past `b`: negative when it is before. In (-2^23, 2^23].
constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t d = (a - b) & psn_mask;
  return d > 0x800000 ? static_cast<std::int32_t>(d) - 0x1000000 : static_cast<std::int32_t>(d);
}
static_assert(psn_distance(0, psn_mask) == 1 && psn_distance(psn_mask, 0) == -1 &&
              psn_distance(5, 5) == 0);

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

/// A full and a limited member may talk, two limited ones may not (IBTA vol. 1, 10.9.3).
constexpr bool pkeys_match(std::uint16_t a, std::uint16_t b) {
  return (a & 0x7fff) == (b & 0x7fff) && (a & 0x7fff) != 0 && ((a | b) & 0x8000) != 0;
}

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca {

/// Does not use std::has_single_bit. That function counts bits, and on x86-64 without popcnt this
/// is a call into the compiler's library.
constexpr bool is_power_of_two(std::uint64_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

}  // namespace freehca

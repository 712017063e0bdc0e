// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Times are nanoseconds of the platform's clock, 64 bits.
#pragma once

#include <cstdint>

namespace freehca::clock {

inline constexpr std::uint64_t never = ~std::uint64_t{0};

constexpr std::uint64_t microseconds(std::uint64_t n) {
  return n * 1'000;
}
constexpr std::uint64_t milliseconds(std::uint64_t n) {
  return n * 1'000'000;
}
constexpr std::uint64_t seconds(std::uint64_t n) {
  return n * 1'000'000'000;
}

/// `time` plus `duration`; `never` stays never.
constexpr std::uint64_t after(std::uint64_t time, std::uint64_t duration) {
  return duration >= never - time ? never : time + duration;
}
constexpr std::uint64_t earlier(std::uint64_t a, std::uint64_t b) {
  return a < b ? a : b;
}

}  // namespace freehca::clock

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace freehca::model {

/// A 64-bit operand of an atomic as it stands in the memory of a little-endian host, and back.
constexpr std::array<std::byte, 8> little_endian_bytes(std::uint64_t value) {
  std::array<std::byte, 8> bytes{};
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}
constexpr std::uint64_t from_little_endian(const std::array<std::byte, 8>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<std::uint64_t>(bytes[i]);
  return value;
}

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::model {

using operand_bytes = std::array<std::byte, 8>;

/// A 64-bit operand of an atomic as it stands in the memory of the host, whose byte order INIT_HCA
/// told, and back.
constexpr operand_bytes to_host_order(std::uint64_t value, bool big_endian) {
  operand_bytes bytes{};
  layouts::store_be(bytes.data(), value);
  if (!big_endian) std::ranges::reverse(bytes);
  return bytes;
}
constexpr std::uint64_t from_host_order(operand_bytes bytes, bool big_endian) {
  if (!big_endian) std::ranges::reverse(bytes);
  return layouts::load_be<std::uint64_t>(bytes.data());
}

}  // namespace freehca::model

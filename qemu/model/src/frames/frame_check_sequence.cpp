// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/frame_check_sequence.hpp"

#include <freehca/layouts/headers.hpp>
#include <freehca/packets/crc.hpp>

namespace freehca::model {

namespace {

/// IBTA's invariant CRC has taken it from Ethernet.
constexpr auto tables = packets::make_crc_tables<std::uint32_t>(layouts::icrc_polynomial);

}  // namespace

std::array<std::byte, fcs_bytes> frame_check_sequence(std::span<const std::byte> frame) {
  std::uint32_t crc = ~packets::advance_crc(tables, ~std::uint32_t{0}, frame);
  std::array<std::byte, fcs_bytes> bytes{};
  for (std::byte& b : bytes) {
    b = static_cast<std::byte>(crc & 0xff);
    crc >>= 8;
  }
  return bytes;
}

}  // namespace freehca::model

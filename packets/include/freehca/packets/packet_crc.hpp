// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace freehca::packets {

/// The invariant CRC of a packet from its LRH to the end of its padding (IBTA vol. 1, 7.8.1). The
/// packet must have room for the headers that it says it has: an LRH, a GRH where link next header
/// says so, a BTH.
std::uint32_t invariant_crc(std::span<const std::byte> packet);

/// The same over headers that count as they are handed in, and over what follows them.
std::uint32_t invariant_crc(std::span<const std::byte> headers, std::span<const std::byte> rest);

/// The variant CRC of a packet from its LRH to its ICRC (IBTA vol. 1, 7.8.2). The CRC of a link
/// packet is the same over the four bytes before it (7.9.4).
std::uint16_t variant_crc(std::span<const std::byte> packet);

}  // namespace freehca::packets

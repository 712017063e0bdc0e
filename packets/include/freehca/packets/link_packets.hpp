// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <freehca/layouts/headers.hpp>

namespace freehca::packets {

/// Puts the CRC into a link packet (IBTA vol. 1, 7.9.4).
void seal(layouts::image<layouts::link_packet>& p);

/// What came out of a cable, when it has the length and the CRC of a link packet. No Ethernet frame
/// is so short.
std::optional<layouts::image<layouts::link_packet>> link_packet_of(
    std::span<const std::byte> bytes);

}  // namespace freehca::packets

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace freehca::packets {

/// What the link layer and the transport layer find wrong with bytes that have arrived, in the
/// order in which they look (IBTA vol. 1, 7.3 and 9.6.1). Each is counted by PortRcvErrors
/// (16.1.3.5).
enum class arrival : std::uint8_t {
  good,
  bad_vcrc,
  malformed,  ///< link version, packet length, or too short for the headers that it says it has
  bad_icrc,
};

/// A packet from its LRH to the end of its padding as it stands on the link: with ICRC and VCRC
/// behind it. One that has no BTH gets a VCRC alone.
std::vector<std::byte> to_wire(std::vector<std::byte> content);

/// What the link layer finds wrong with bytes from LRH to VCRC; never bad_icrc. Raw packets (no
/// transport of InfiniBand) have no ICRC, and nobody here takes them: malformed. No source: chosen
arrival check_link(std::span<const std::byte> wire);

/// The same, and the invariant CRC.
arrival check(std::span<const std::byte> wire);

/// Of bytes that check_link() finds good: from the LRH to the end of the padding.
std::span<const std::byte> content_of(std::span<const std::byte> wire);

/// Writes the variant CRC anew, after a change of what it covers.
void renew_variant_crc(std::span<std::byte> wire);

/// Is the word at `at`, as it stands on the link, the invariant CRC of the packet before it?
bool is_invariant_crc_of(std::span<const std::byte> content, const std::byte* at);

}  // namespace freehca::packets

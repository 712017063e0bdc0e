// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "link/packet.hpp"

namespace freehca::model {

/// What the link layer and the transport layer find wrong with bytes that have arrived, in the
/// order in which they look (IBTA vol. 1, 7.3 and 9.6.1). Each is counted by PortRcvErrors
/// (16.1.3.5).
enum class arrival : std::uint8_t {
  good,
  bad_vcrc,
  malformed,  ///< link version, packet length, or too short for the headers that it says it has
  bad_icrc,
};

/// The packet as it stands on the link: with ICRC and VCRC behind it. One that has no BTH gets a
/// VCRC alone.
std::vector<std::byte> to_wire(const packet& p);

/// The packet in bytes from LRH to VCRC; `p` is written when it is good. Raw packets (no transport
/// of InfiniBand) have no ICRC, and nobody here takes them: malformed. No source: chosen
arrival from_wire(std::span<const std::byte> bytes, packet& p);

/// Is the word at `at`, as it stands on the link, the invariant CRC of the packet before it?
bool is_icrc_of(const packet& p, const std::byte* at);

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Management datagrams in the model's packets.
#pragma once

#include <optional>

#include <freehca/packets/mad_packet.hpp>

#include "link/packet.hpp"

namespace freehca::model {

using packets::mad_buffer;
using packets::mad_packet;
using packets::packet_summary;

/// Builds the packet: UD, send only, one MAD.
inline packet encode(const mad_packet& m) {
  return {packets::build(m)};
}

/// None when the packet is not a UD send of exactly one MAD.
inline std::optional<mad_packet> decode(const packet& p) {
  return packets::decode(p.bytes);
}

/// None when the packet is too short to have a BTH or says that it has none.
inline std::optional<packet_summary> summarise(const packet& p) {
  return packets::summarise(p.bytes);
}

}  // namespace freehca::model

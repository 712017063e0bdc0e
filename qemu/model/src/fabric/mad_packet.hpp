// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Management datagrams in the model's packets.
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/packets/mad_packet.hpp>

#include "link/packet.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

using packets::mad_buffer;
using packets::mad_packet;
using packets::packet_summary;

/// Builds the packet: UD, send only, one MAD.
inline packet encode(const mad_packet& m) {
  return {packets::build(m)};
}

/// Whether encode() has room for each number: those of a packet that decode() gave fit.
inline bool fits_headers(const mad_packet& m) {
  constexpr unsigned lanes = 16, service_levels = 16;
  constexpr std::uint32_t queue_pairs = 1u << 24;
  return m.virtual_lane < lanes && m.service_level < service_levels && m.source_qp < queue_pairs &&
         m.dest_qp < queue_pairs;
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

namespace freehca::model::saving {

template <>
inline constexpr auto fields_of<packets::mad_packet> =
    fields<&packets::mad_packet::slid, &packets::mad_packet::dlid,
           &packets::mad_packet::virtual_lane, &packets::mad_packet::service_level,
           &packets::mad_packet::source_qp, &packets::mad_packet::dest_qp,
           &packets::mad_packet::qkey, &packets::mad_packet::pkey, &packets::mad_packet::psn,
           &packets::mad_packet::grh, &packets::mad_packet::mad>{};

}  // namespace freehca::model::saving

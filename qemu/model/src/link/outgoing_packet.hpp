// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstring>

#include <freehca/layouts/headers.hpp>

#include "link/packet.hpp"

namespace freehca::model {

/// A packet that a link codec has laid out: the headers of its link and its BTH are in place, and
/// there is room for the rest.
struct outgoing_packet {
  packet p;
  std::size_t base = 0;      ///< where the BTH stands
  std::size_t extended = 0;  ///< where the extended transport headers begin
  std::size_t payload = 0;   ///< where the payload begins

  /// Writes header T at `offset` past the start of the extended headers, and gives the offset
  /// behind it.
  template <class T>
  std::size_t put(std::size_t offset, const layouts::image<T>& header) {
    std::memcpy(p.bytes.data() + extended + offset, header.data(), T::bytes);
    return offset + T::bytes;
  }
  std::byte* payload_bytes() { return p.bytes.data() + payload; }
  layouts::bth_opcode opcode() const {
    return layouts::image<layouts::bth>::from_bytes(p.bytes.data() + base)
        .get<&layouts::bth::opcode>();
  }
};

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::model {

/// The addresses of ports, as link codecs ask for them.
class port_addresses {
 public:
  virtual ~port_addresses() = default;
  /// Where a packet with these path bits comes from: those that the LMC leaves count (Linux
  /// qib_ud.c qib_make_ud_req).
  virtual std::uint16_t source_lid(unsigned port, unsigned path_bits) const = 0;
  virtual std::uint16_t base_lid(unsigned port) const = 0;
  /// Is it one of the port's 2^LMC LIDs?
  virtual bool own_lid(unsigned port, std::uint16_t lid) const = 0;
  /// Copies the 16 bytes of GID `index`; false past the table.
  virtual bool gid(unsigned port, unsigned index, std::byte* to) const = 0;
};

}  // namespace freehca::model

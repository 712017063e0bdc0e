// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/cqe.hpp>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// What a completion says of a received frame, in its own terms (docs/hardware-ethernet.md,
/// "Receive").
struct receive_checks {
  bool ipv4 = false, ipv6 = false;
  bool options = false, fragment = false;  ///< of IPv4
  /// Not of fragments: nobody can say of one alone that its checksum is right, and a driver takes a
  /// sum of 0xffff for that where one of these bits stands. No source: chosen.
  bool tcp = false, udp = false;
  std::uint8_t ipv6_extensions = 0;  ///< ipv6_extension_*
  bool ip_ok = false, l4_ok = false;
  std::uint16_t sum = 0;  ///< the completion's `checksum`
};

/// `h`: the outer or the inner headers of the frame.
receive_checks check(const frame_view& frame, const frame_headers& h);

/// Puts them into the rows of a completion that frames and datagrams of IP over InfiniBand share.
void put(const receive_checks& c, layouts::image<layouts::cqe>& e);

}  // namespace freehca::model

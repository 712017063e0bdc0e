// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace freehca::model {

/// An Ethernet frame as it stands on its link, from the destination MAC to the last byte of the
/// payload, without the FCS. Where functions say so, a datagram of IP over InfiniBand instead, from
/// its first byte on.
struct frame {
  std::vector<std::byte> bytes;
  /// A queue pair of the same port has sent it, and it has not come by the link.
  struct sender {
    std::uint32_t qpn = 0;
    std::uint8_t counter = 0;  ///< that its context names
  };
  std::optional<sender> looped_from = std::nullopt;
  unsigned priority = 0;  ///< of who sends it: in which traffic class it waits
};

/// The FCS that a frame has on the link: cards count its bytes.
inline constexpr std::size_t fcs_bytes = 4;
/// The least that a frame has on the link, without its FCS: what is shorter is padded with zeros.
inline constexpr std::size_t frame_bytes_least = 60;

}  // namespace freehca::model

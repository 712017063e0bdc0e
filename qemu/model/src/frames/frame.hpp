// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "saving/fields.hpp"

namespace freehca::model {

/// An Ethernet frame as it stands on its link, from the destination MAC to the last byte of the
/// payload, without the FCS. Where functions say so, a datagram of IP over InfiniBand instead, from
/// its first byte on.
struct frame {
  std::vector<std::byte> bytes;
  /// A queue pair of the same port has sent it, and it has not come by the link.
  struct sender {
    std::uint32_t qpn;
    std::uint8_t counter;  ///< that its context names

    using saved = saving::fields<&sender::qpn, &sender::counter>;
  };
  std::optional<sender> looped_from = std::nullopt;
  unsigned priority = 0;  ///< of who sends it: in which traffic class it waits

  using saved = saving::fields<&frame::bytes, &frame::looped_from, &frame::priority>;
  const char* broken_invariant() const {
    // More than the MTU of any port.
    constexpr std::size_t longest = 0x10000;
    return bytes.size() <= longest ? nullptr : "a frame of more than 64 KiB";
  }
};

/// The FCS that a frame has on the link: cards count its bytes.
inline constexpr std::size_t fcs_bytes = 4;
/// The least that a frame has on the link, without its FCS: what is shorter is padded with zeros.
inline constexpr std::size_t frame_bytes_least = 60;

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace freehca::model {

/// An Ethernet frame as it stands on its link, from the destination MAC to the last byte of the
/// payload, without the FCS.
struct frame {
  std::vector<std::byte> bytes;
  /// It has not come by the link: a queue pair of the same port has sent it, whose counter this is.
  std::optional<std::uint8_t> looped_from = std::nullopt;
};

/// The FCS that a frame has on the link: cards count its bytes.
inline constexpr std::size_t fcs_bytes = 4;
/// The least that a frame has on the link, without its FCS: what is shorter is padded with zeros.
inline constexpr std::size_t frame_bytes_least = 60;

}  // namespace freehca::model

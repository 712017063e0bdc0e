// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace freehca::infiniband_switch {

/// What a switch says of itself. It is nobody's product, so vendor, device and revision are 0.
struct switch_identity {
  unsigned ports = 2;      ///< without port 0
  std::uint64_t guid = 0;  ///< of the node, of port 0 and of the system
  bool manages = false;    ///< it has a subnet manager
  std::array<std::byte, 64> description{};

  /// Text of at most 64 bytes; the rest is zero.
  void describe(std::string_view text) {
    description = {};
    for (std::size_t i = 0; i < text.size() && i < description.size(); ++i)
      description[i] = static_cast<std::byte>(text[i]);
  }
};

}  // namespace freehca::infiniband_switch

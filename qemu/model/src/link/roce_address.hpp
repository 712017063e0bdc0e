// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "saving/fields.hpp"

namespace freehca::model {

/// Which headers stand between Ethernet's and the BTH: a GRH (v1), or IP and UDP (v2). Values are
/// those of contexts (qpc::roce_mode) and of SET_PORT's tables.
enum class roce_version : std::uint8_t { v1 = 0, v2 = 2 };

/// An entry of an Ethernet port's GID table.
struct roce_address {
  std::array<std::byte, 16> gid{};
  roce_version version = roce_version::v1;
  bool ipv6 = false;  ///< of version 2: else the GID is an IPv4-mapped address

  bool empty() const { return gid == std::array<std::byte, 16>{}; }

  using saved =
      saving::fields<&roce_address::gid, saving::up_to(&roce_address::version, roce_version::v2),
                     &roce_address::ipv6>;
  const char* broken_invariant() const {
    return version == roce_version::v1 || version == roce_version::v2 ? nullptr
                                                                      : "RoCE has versions 1 and 2";
  }
};

}  // namespace freehca::model

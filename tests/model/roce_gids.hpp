// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>

namespace freehca::model::test {

/// Where a port's GID table has an address of each form; 0 stays the driver's.
enum : unsigned { at_v1 = 1, at_v2_ipv6 = 2, at_v2_ipv4 = 3 };

using gid_bytes = std::array<std::byte, 16>;

/// The GID of one end of a cable there: fe80::END, or 10.0.0.END.
inline gid_bytes gid_of_end(unsigned end, unsigned index) {
  gid_bytes g{};
  if (index == at_v2_ipv4) {
    g[10] = g[11] = std::byte{0xff};
    g[12] = std::byte{10};
  } else {
    g[0] = std::byte{0xfe};
    g[1] = std::byte{0x80};
  }
  g[15] = static_cast<std::byte>(end);
  return g;
}

}  // namespace freehca::model::test

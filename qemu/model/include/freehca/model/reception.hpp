// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

namespace freehca::model {

/// What an Ethernet port lets in, as its driver has told the adapter: for those who look on, no
/// frame is judged by it.
struct reception {
  std::uint64_t mac = 0;  ///< the port's own: burned in, or what the driver has put in its place
  std::vector<std::uint64_t> unicast, multicast;  ///< beside that one, and beside broadcast
  std::vector<std::uint16_t> vlans;
  bool broadcast = false;
  bool promiscuous = false;
  bool all_multicast = false;
  bool all_vlans = false;
};

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// Which frames an Ethernet port's queue pairs get, as far as addresses tell.
struct listening {
  bool promiscuous = false;                       ///< unicast to addresses that nobody named
  bool all_multicast = false;                     ///< multicast to such
  bool incomplete = false;                        ///< there may be more addresses
  std::vector<std::uint64_t> unicast, multicast;  ///< MACs, each once

  void add(std::uint64_t mac) { (is_multicast(mac) ? multicast : unicast).push_back(mac); }
  void tidy() {
    for (std::vector<std::uint64_t>* macs : {&unicast, &multicast}) {
      std::sort(macs->begin(), macs->end());
      macs->erase(std::unique(macs->begin(), macs->end()), macs->end());
    }
  }

 private:
  static bool is_multicast(std::uint64_t mac) {
    frame_headers to;
    to.destination = mac;
    return to.multicast();
  }
};

}  // namespace freehca::model

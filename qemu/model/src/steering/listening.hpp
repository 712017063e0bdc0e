// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
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

  /// As many of either kind as are told. No source: chosen.
  static constexpr std::size_t most = 4096;

  void add(std::uint64_t mac) {
    std::vector<std::uint64_t>& macs = is_multicast(mac) ? multicast : unicast;
    if (!macs.empty() && macs.back() == mac) return;
    if (macs.size() < most) macs.push_back(mac);
    else incomplete = true;
  }
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

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

namespace freehca::model {

inline constexpr unsigned vlan_ids = 4096;

/// What an Ethernet port lets in, as its commands have it. What steering then does with it is not
/// told here.
struct receive_filter {
  std::vector<std::uint64_t> macs;  ///< of the MAC table (SET_PORT)
  /// Of multicast and broadcast, only `multicast` (SET_MCAST_FLTR); else all.
  bool filters_multicast = false;
  std::vector<std::uint64_t> multicast;
  /// Of tagged frames, only those of `vlans` (SET_VLAN_FLTR); else all.
  bool filters_vlans = false;
  std::bitset<vlan_ids> vlans;
};

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ethernet_settings.hpp"

#include <algorithm>

namespace freehca::model {

std::optional<unsigned> ethernet_settings::mac_index(std::uint64_t mac) const {
  const auto found = std::find(macs.begin(), macs.end(), std::optional{mac});
  if (found == macs.end()) return std::nullopt;
  return static_cast<unsigned>(found - macs.begin());
}

std::optional<unsigned> ethernet_settings::gid_index(const std::byte* gid,
                                                     roce_version version) const {
  const auto found = std::find_if(addresses.begin(), addresses.end(), [&](const roce_address& a) {
    return a.version == version && !a.empty() && std::equal(a.gid.begin(), a.gid.end(), gid);
  });
  if (found == addresses.end()) return std::nullopt;
  return static_cast<unsigned>(found - addresses.begin());
}

const char* ethernet_settings::broken_invariant() const {
  const auto is_mac = [](const std::optional<std::uint64_t>& mac) {
    return !mac || *mac >> 48 == 0;
  };
  const auto is_vlan = [](const std::optional<std::uint16_t>& vid) {
    return !vid || *vid < vlan_ids;
  };
  if (mtu < frame_mtu_least || mtu > frame_mtu_most) return "the MTU is out of its range";
  if (!is_mac(user_mac) || !std::ranges::all_of(macs, is_mac) ||
      !std::ranges::all_of(multicast_let_in, is_mac))
    return "a MAC address has 48 bits";
  if (!std::ranges::all_of(vlans, is_vlan)) return "a VLAN identifier has 12 bits";
  if (multicast_let_in.size() > multicast_addresses_most)
    return "too many multicast addresses are let in";
  if (std::ranges::any_of(class_of_priority,
                          [](unsigned c) { return c >= traffic_classes::count; }))
    return "a priority has no such traffic class";
  return nullptr;
}

receive_filter ethernet_settings::filter() const {
  receive_filter f;
  for (const auto& mac : macs)
    if (mac) f.macs.push_back(*mac);
  f.filters_multicast = filters_multicast;
  f.multicast.assign(multicast_let_in.begin(), multicast_let_in.end());
  f.filters_vlans = filters_vlans;
  f.vlans = vlans_let_in;
  return f;
}

}  // namespace freehca::model

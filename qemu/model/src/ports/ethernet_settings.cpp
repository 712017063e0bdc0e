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

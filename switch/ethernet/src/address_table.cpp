// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/ethernet_switch/address_table.hpp>

namespace freehca::ethernet_switch {

void address_table::learn(std::uint64_t address, unsigned port, std::uint64_t now) {
  const auto known = places_.find(address);
  if (known != places_.end()) {
    known->second = {port, now};
    return;
  }
  if (places_.size() < most_addresses) places_.emplace(address, place{port, now});
}

unsigned address_table::port_of(std::uint64_t address, std::uint64_t now) const {
  const auto known = places_.find(address);
  return known != places_.end() && now - known->second.heard_at < age_ns ? known->second.port : 0;
}

void address_table::forget_port(unsigned port) {
  std::erase_if(places_, [port](const auto& one) { return one.second.port == port; });
}

void address_table::forget_old(std::uint64_t now) {
  std::erase_if(places_, [now](const auto& one) { return now - one.second.heard_at >= age_ns; });
}

}  // namespace freehca::ethernet_switch

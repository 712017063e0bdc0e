// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the RoCE codec asks of ports: tables that SET_PORT has filled.
#include <algorithm>

#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

std::optional<roce_address> ports::gid_at(unsigned number, unsigned index) const {
  const ethernet_port* p = ethernet(number);
  return p != nullptr ? p->gid(index) : std::nullopt;
}

bool ports::own_gid(unsigned number, const std::byte* gid, roce_version version) const {
  const ethernet_port* p = ethernet(number);
  return p != nullptr && p->gid_index(gid, version).has_value();
}

bool ports::speaks(unsigned number, roce_version version) const {
  const ethernet_port* p = ethernet(number);
  return p != nullptr && std::ranges::any_of(p->told().addresses, [version](const auto& entry) {
           return !entry.empty() && entry.version == version;
         });
}

std::optional<std::uint64_t> ports::mac_at(unsigned number, unsigned index) const {
  const ethernet_port* p = ethernet(number);
  return p != nullptr ? p->mac_at(index) : std::nullopt;
}

bool ports::own_mac(unsigned number, std::uint64_t mac) const {
  const ethernet_port* p = ethernet(number);
  return p != nullptr && p->mac_index(mac).has_value();
}

std::optional<std::uint16_t> ports::vlan_at(unsigned number, unsigned index) const {
  const ethernet_port* p = ethernet(number);
  return p != nullptr ? p->vlan_at(index) : std::nullopt;
}

std::optional<std::uint16_t> ports::v2_udp_port(unsigned number) const {
  const ethernet_port* p = ethernet(number);
  if (p == nullptr || !p->speaks_roce_v2()) return std::nullopt;
  return a_.profile.roce_v2_port;
}

}  // namespace freehca::model

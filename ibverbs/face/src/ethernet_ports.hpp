// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What hosts do for Ethernet ports: open them, and fill their tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <freehca/hca/port_addresses.hpp>

namespace freehca::ibverbs {

class engine;

/// An IP address of a port, as a GID, on a VLAN or on none.
struct vlan_gid {
  std::uint16_t vlan = no_vlan;
  gid address{};
};

/// The IP addresses of a port that the environment names.
struct named_addresses {
  std::optional<gid> ip;           ///< FREEHCA_IP; no value: the variable is not set
  std::vector<vlan_gid> on_vlans;  ///< FREEHCA_VLANS
};

/// Reads FREEHCA_IP, an IPv4 or IPv6 address, and FREEHCA_VLANS, a list as
/// 100=192.0.2.1,200=fd00::1. False: `why` has what is wrong with one of them.
bool read_addresses(named_addresses& to, std::string& why);
/// False: one of the addresses on VLANs is `own`, that of the port itself. `why` says so.
bool differ_from(const gid& own, const std::vector<vlan_gid>& on_vlans, std::string& why);

/// The GIDs of a port, and their VLANs, in the same order.
struct gid_list {
  std::vector<port_gid> gids;
  std::vector<std::uint16_t> vlans;
};

/// The GIDs of a port with this MAC and these IP addresses, in the order in which Linux has them:
/// the link-local address of the MAC, then the IP address, then those of VLANs, each as v1 and, if
/// the device has it, as v2 (6.1 drivers/infiniband/core/cache.c ib_cache_gid_set_default_gid,
/// roce_gid_mgmt.c). Linux also has the link-local addresses of VLANs. The hardware has no second
/// entry with the same GID.
gid_list gids_of_port(std::uint64_t mac, const named_addresses& of, bool has_v2);

/// Opens an Ethernet port, and fills its tables of MACs, VLANs and GIDs. The engine reports them.
/// The MAC is the port's own. The link may come up later.
status open_ethernet_port(engine& of, unsigned port, const named_addresses& addresses);

}  // namespace freehca::ibverbs

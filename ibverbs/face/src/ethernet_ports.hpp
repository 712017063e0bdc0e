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

/// Reads FREEHCA_IP, an IPv4 or IPv6 address, as a GID. No value in `to`: the variable is not set.
/// False: `why` has what is wrong with it.
bool read_ip_address(std::optional<gid>& to, std::string& why);

/// The GIDs of a port with this MAC and IP address, in the order in which Linux has them: the
/// link-local address of the MAC, then the IP address, each as v1 and, if the device has it, as v2
/// (6.1 drivers/infiniband/core/cache.c ib_cache_gid_set_default_gid, roce_gid_mgmt.c).
std::vector<port_gid> gids_of_port(std::uint64_t mac, const std::optional<gid>& ip, bool has_v2);

/// Opens an Ethernet port, and fills its tables of MACs and GIDs. The engine reports them. The MAC
/// is the port's own. The link may come up later.
status open_ethernet_port(engine& of, unsigned port, const std::optional<gid>& ip);

}  // namespace freehca::ibverbs

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ethernet_ports.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <freehca/hca/device.hpp>
#include <freehca/hca/port_operation.hpp>
#include <freehca/layouts/query_port.hpp>

#include "engine.hpp"
#include "environment.hpp"

namespace freehca::ibverbs {

namespace {

constexpr std::uint16_t default_pkey = 0xffff;

/// Reads an IPv4 or IPv6 address.
bool read_address(const std::string& text, gid& to) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4) != 1)
    return inet_pton(AF_INET6, text.c_str(), to.raw) == 1;
  to = gid_of_ipv4(ntohl(ipv4.s_addr));
  return true;
}

/// Reads VLAN=ADDRESS.
bool read_vlan(const std::string& text, vlan_gid& to) {
  constexpr unsigned most_vlan = 4094;  // IEEE 802.1Q
  const std::size_t end = text.find('=');
  if (end == 0 || end > 4 || text.find_first_not_of("0123456789") != end) return false;
  const unsigned long vlan = std::stoul(text.substr(0, end));
  to.vlan = static_cast<std::uint16_t>(vlan);
  return vlan != 0 && vlan <= most_vlan && read_address(text.substr(end + 1), to.address);
}

}  // namespace

bool read_addresses(named_addresses& to, std::string& why) {
  const std::string ip = environment("FREEHCA_IP"), vlans = environment("FREEHCA_VLANS");
  if (!ip.empty() && !read_address(ip, to.ip.emplace())) {
    why = "FREEHCA_IP: '" + ip + "' is no IPv4 or IPv6 address";
    return false;
  }
  for (std::size_t begin = 0; begin < vlans.size();) {
    const std::size_t end = std::min(vlans.find(',', begin), vlans.size());
    const std::string text = vlans.substr(begin, end - begin);
    begin = end + 1;
    vlan_gid found;
    if (!read_vlan(text, found)) {
      why = "FREEHCA_VLANS: '" + text + "' is no VLAN=ADDRESS, as 100=192.0.2.1";
      return false;
    }
    if (!differ_from(found.address, to.on_vlans, why)) return false;
    to.on_vlans.push_back(found);
  }
  return !to.ip || differ_from(*to.ip, to.on_vlans, why);
}

bool differ_from(const gid& own, const std::vector<vlan_gid>& on_vlans, std::string& why) {
  for (const vlan_gid& other : on_vlans)
    if (other.address == own) {
      why = "FREEHCA_VLANS: VLAN " + std::to_string(other.vlan) +
            ": the port has this IP address already, and a port has an address once";
      return false;
    }
  return true;
}

gid_list gids_of_port(std::uint64_t mac, const named_addresses& of, bool has_v2) {
  std::vector<vlan_gid> addresses{{no_vlan, gid_of_mac(mac)}};
  if (of.ip && *of.ip != addresses[0].address) addresses.push_back({no_vlan, *of.ip});
  addresses.insert(addresses.end(), of.on_vlans.begin(), of.on_vlans.end());
  gid_list all;
  for (const vlan_gid& each : addresses)
    for (const roce_version version : {roce_version::v1, roce_version::v2}) {
      if (version == roce_version::v2 && !has_v2) continue;
      all.gids.push_back({each.address, version});
      all.vlans.push_back(each.vlan);
    }
  return all;
}

status open_ethernet_port(engine& of, unsigned port, const named_addresses& addresses) {
  const capabilities& can = of.hardware().capabilities();
  engine::port_tables tables;
  tables.mac = can.raw_port[port - 1].get<&layouts::query_port::mac>();
  gid_list gids = gids_of_port(tables.mac, addresses, can.has(layouts::bmme_flag::roce_v1_v2));
  tables.gids = std::move(gids.gids);
  tables.gid_vlans = std::move(gids.vlans);
  std::vector<std::uint16_t> vlans;
  for (const vlan_gid& each : addresses.on_vlans)
    if (std::find(vlans.begin(), vlans.end(), each.vlan) == vlans.end()) vlans.push_back(each.vlan);
  tables.pkeys = {default_pkey};
  // Programs ask the kernel about the device that the files name. The loopback device is on every
  // host.
  tables.network_device = "lo";
  set_port_addresses set;
  set.start(of.hardware(), port,
            {.macs = &tables.mac,
             .mac_entries = 1,
             .vlans = vlans.data(),
             .vlan_entries = static_cast<unsigned>(vlans.size()),
             .gids = tables.gids.data(),
             .gid_entries = static_cast<unsigned>(tables.gids.size())});
  FREEHCA_TRY(of.finish(set));
  port_operation open;
  open.open(of.hardware(), port);
  FREEHCA_TRY(of.finish(open));
  of.set_tables(port, std::move(tables));
  return {};
}

}  // namespace freehca::ibverbs

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

}  // namespace

bool read_ip_address(std::optional<gid>& to, std::string& why) {
  const char* const text = environment("FREEHCA_IP");
  if (*text == '\0') return true;
  in_addr ipv4{};
  gid ipv6;
  if (inet_pton(AF_INET, text, &ipv4) == 1) {
    to = gid_of_ipv4(ntohl(ipv4.s_addr));
  } else if (inet_pton(AF_INET6, text, ipv6.raw) == 1) {
    to = ipv6;
  } else {
    why = std::string("FREEHCA_IP: '") + text + "' is no IPv4 or IPv6 address";
    return false;
  }
  return true;
}

std::vector<port_gid> gids_of_port(std::uint64_t mac, const std::optional<gid>& ip, bool has_v2) {
  std::vector<gid> addresses{gid_of_mac(mac)};
  if (ip && *ip != addresses[0]) addresses.push_back(*ip);
  std::vector<port_gid> all;
  for (const gid& address : addresses) {
    all.push_back({address, roce_version::v1});
    if (has_v2) all.push_back({address, roce_version::v2});
  }
  return all;
}

status open_ethernet_port(engine& of, unsigned port, const std::optional<gid>& ip) {
  const capabilities& can = of.hardware().capabilities();
  engine::port_tables tables;
  tables.mac = can.raw_port[port - 1].get<&layouts::query_port::mac>();
  tables.gids = gids_of_port(tables.mac, ip, can.has(layouts::bmme_flag::roce_v1_v2));
  tables.pkeys = {default_pkey};
  // Programs ask the kernel about the device that the files name. The loopback device is on every
  // host.
  tables.network_device = "lo";
  set_port_addresses set;
  set.start(of.hardware(), port,
            {.macs = &tables.mac,
             .mac_entries = 1,
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

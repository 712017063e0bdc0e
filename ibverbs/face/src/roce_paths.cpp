// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "roce_paths.hpp"

#include <netinet/in.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <freehca/hca/port_addresses.hpp>
#include <freehca/layouts/layout.hpp>

#include "gid_tables.hpp"

namespace freehca::ibverbs {

namespace {

gid gid_from(const ibv_gid& from) {
  gid to;
  std::memcpy(to.raw, from.raw, sizeof to.raw);
  return to;
}

const std::byte* bytes_of(const gid& of) {
  return reinterpret_cast<const std::byte*>(of.raw);
}

/// Linux 6.1 include/net/ip.h ip_eth_mc_map, include/rdma/ib_addr.h rdma_get_mcast_mac.
std::uint64_t mac_of_group(const gid& of) {
  const auto last = layouts::load_be<std::uint32_t>(bytes_of(of) + 12);
  return is_ipv4(of) ? 0x01005e000000 | (last & 0x7fffff) : 0x333300000000 | last;
}

/// The MAC that a link-local address was made of, if it was made of one (Linux 6.1
/// include/rdma/ib_addr.h rdma_get_ll_mac).
std::optional<std::uint64_t> mac_in(const gid& of) {
  const std::uint64_t high = layouts::load_be<std::uint32_t>(bytes_of(of) + 8) >> 8;
  const std::uint64_t low = layouts::load_be<std::uint32_t>(bytes_of(of) + 12) & 0xffffff;
  constexpr std::uint64_t universal = std::uint64_t{2} << 40;
  const std::uint64_t mac = (high << 24 | low) ^ universal;
  if (is_multicast_mac(mac) || gid_of_mac(mac) != of) return {};
  return mac;
}

/// True if the bytes are an IPv4 header without options, and its checksum is right.
bool is_ipv4_header(const std::byte* at) {
  constexpr std::byte version_and_length{0x45};
  if (at[0] != version_and_length) return false;
  std::uint32_t sum = 0;
  for (unsigned i = 0; i < 20; i += 2) sum += layouts::load_be<std::uint16_t>(at + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

constexpr std::size_t ipv4_at = 20;  // in the 40 bytes before a datagram's data

/// The version of the network header before a datagram's data: 4, 6, or 0 (neither). As rdma-core
/// libibverbs/verbs.c get_grh_header_version finds it.
unsigned version_of(const std::byte* header) {
  const unsigned first = std::to_integer<unsigned>(header[0]) >> 4;
  if (is_ipv4_header(header + ipv4_at)) return 4;
  if (first == 6) return 6;
  return std::to_integer<unsigned>(header[ipv4_at]) >> 4 == 4 ? 4 : 0;
}

int read_ipv4_sender(engine& in, unsigned port, const std::byte* header, ibv_ah_attr& to) {
  const gid source = gid_of_ipv4(layouts::load_be<std::uint32_t>(header + 12));
  const gid destination = gid_of_ipv4(layouts::load_be<std::uint32_t>(header + 16));
  const std::optional<std::uint8_t> index = find_gid(in, port, destination, IBV_GID_TYPE_ROCE_V2);
  if (!index) return EINVAL;
  std::memcpy(to.grh.dgid.raw, source.raw, sizeof source.raw);
  to.grh.sgid_index = *index;
  to.grh.traffic_class = std::to_integer<std::uint8_t>(header[1]);
  to.grh.hop_limit = std::to_integer<std::uint8_t>(header[8]);
  return 0;
}

/// The type of the destination GID of a packet whose header has the form of a GRH. No value: none.
std::optional<ibv_gid_type> type_of(const ibv_grh& header, bool ethernet) {
  constexpr std::uint8_t after_grh = 0x1b;  // IBTA vol. 1, 8.3: IBA transport headers
  if (!ethernet) return IBV_GID_TYPE_IB;
  if (header.next_hdr == IPPROTO_UDP) return IBV_GID_TYPE_ROCE_V2;
  if (header.next_hdr == after_grh) return IBV_GID_TYPE_ROCE_V1;
  return {};
}

}  // namespace

std::optional<std::uint64_t> mac_of(engine& in, unsigned port, const gid& of, std::uint16_t vlan) {
  if (is_multicast(of)) return mac_of_group(of);
  const engine::port_tables& own = in.port(port);
  for (std::size_t i = 0; i < own.gids.size(); ++i)
    if (own.gids[i].address == of && own.gid_vlans[i] == vlan) return own.mac;
  if (const std::optional<std::uint64_t> mac = mac_in(of)) return mac;
  return in.host().mac_of(of, vlan);
}

int read_path(engine& in, const ibv_ah_attr& from, unsigned port, roce_path& to) {
  if (from.is_global == 0) return EINVAL;
  roce_path found;
  found.dgid = gid_from(from.grh.dgid);
  if (found.dgid == gid{}) return EINVAL;
  if (from.grh.sgid_index < gid_count(in, port))
    found.vlan = gid_at(in, port, from.grh.sgid_index).vlan;
  const std::optional<std::uint64_t> mac = mac_of(in, port, found.dgid, found.vlan);
  if (!mac) return EHOSTUNREACH;
  found.port = port;
  found.dmac = *mac;
  // Three bits of the service level are the priority (Linux 6.1 hw/mlx4/qp.c _mlx4_set_path).
  found.priority = from.sl & 7;
  found.static_rate = from.static_rate;
  found.sgid_index = from.grh.sgid_index;
  found.traffic_class = from.grh.traffic_class;
  found.flow_label = from.grh.flow_label;
  // A packet without hops would reach nobody. Linux takes the hop limit of the route.
  if (from.grh.hop_limit != 0) found.hop_limit = from.grh.hop_limit;
  to = found;
  return 0;
}

int take_path(engine& in, ibv_qp_attr& from, int mask, roce_path& to) {
  // Linux has alternate paths on InfiniBand only (6.1 core/verbs.c _ib_modify_qp).
  if ((mask & IBV_QP_ALT_PATH) != 0) return EINVAL;
  if ((mask & IBV_QP_PORT) != 0) to.port = from.port_num;
  if ((mask & IBV_QP_AV) == 0) return 0;
  if (const int error = read_path(in, from.ah_attr, from.port_num, to); error != 0) return error;
  // As Linux reports it (6.1 hw/mlx4/qp.c to_rdma_ah_attr).
  from.ah_attr.dlid = 0;
  from.ah_attr.src_path_bits = 0;
  from.ah_attr.is_global = 1;
  from.ah_attr.sl = to.priority;
  from.ah_attr.grh.hop_limit = to.hop_limit;
  return 0;
}

int read_sender(engine& in, unsigned port, const ibv_wc& received, const ibv_grh& header,
                ibv_ah_attr& to) {
  to = {};
  to.dlid = received.slid;
  to.sl = received.sl;
  to.src_path_bits = received.dlid_path_bits;
  to.port_num = static_cast<std::uint8_t>(port);
  if ((received.wc_flags & IBV_WC_GRH) == 0) return 0;
  to.is_global = 1;
  const bool ethernet = is_ethernet(in, port);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&header);
  const unsigned version = ethernet ? version_of(bytes) : 6;
  if (version == 4) return read_ipv4_sender(in, port, bytes + ipv4_at, to);
  const std::optional<ibv_gid_type> type = type_of(header, ethernet);
  if (version != 6 || !type) return EPROTONOSUPPORT;
  // The answer goes from where the request went to (IBTA vol. 1, 13.5.4.4).
  const std::optional<std::uint8_t> index = find_gid(in, port, gid_from(header.dgid), *type);
  if (!index) return EINVAL;
  const std::uint32_t words = layouts::swap_be(header.version_tclass_flow);
  to.grh.dgid = header.sgid;
  to.grh.sgid_index = *index;
  to.grh.flow_label = words & 0xfffff;
  to.grh.traffic_class = static_cast<std::uint8_t>(words >> 20);
  to.grh.hop_limit = header.hop_limit;
  return 0;
}

}  // namespace freehca::ibverbs

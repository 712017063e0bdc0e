// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Flow rules. What is refused, and with which error: Linux 6.1 core/uverbs_cmd.c
// ib_uverbs_ex_create_flow, kern_spec_to_ib_spec_filter; hw/mlx4/main.c mlx4_ib_create_flow,
// __mlx4_ib_create_flow, parse_flow_attr; rdma-core libibverbs/cmd.c ib_spec_to_kern_spec.
#include <cstring>
#include <memory>
#include <optional>

#include <freehca/layouts/layout.hpp>

#include "errors.hpp"
#include "gid_tables.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

/// The first 48 bits of `from`, in the byte order of a packet.
std::uint64_t mac_from(const std::uint8_t (&from)[6]) {
  std::uint64_t mac = 0;
  for (const std::uint8_t byte : from) mac = mac << 8 | byte;
  return mac;
}

/// Returns false if the rule has a condition that the hardware does not have. Linux's mlx4_ib
/// ignores the source address and the type.
bool read_ethernet(const ibv_flow_spec_eth& from, ethernet_flow& to) {
  constexpr std::uint16_t whole = 0xffff;
  to.destination_mask = mac_from(from.mask.dst_mac);
  to.destination = mac_from(from.val.dst_mac) & to.destination_mask;
  to.source_mask = mac_from(from.mask.src_mac);
  to.source = mac_from(from.val.src_mac) & to.source_mask;
  to.vlan_mask = layouts::swap_be(from.mask.vlan_tag);
  to.vlan = layouts::swap_be(from.val.vlan_tag) & to.vlan_mask;
  to.by_ether_type = from.mask.ether_type == whole;
  if (to.by_ether_type) to.ether_type = layouts::swap_be(from.val.ether_type);
  return to.by_ether_type || from.mask.ether_type == 0;
}

/// ibv_flow_ipv4_filter or ibv_flow_ipv4_ext_filter.
template <class Filter>
ipv4_flow ipv4_from(const Filter& value, const Filter& mask) {
  return {.destination = layouts::swap_be(value.dst_ip),
          .destination_mask = layouts::swap_be(mask.dst_ip),
          .source = layouts::swap_be(value.src_ip),
          .source_mask = layouts::swap_be(mask.src_ip)};
}

tcp_flow ports_from(const ibv_flow_spec_tcp_udp& from) {
  return {.destination = layouts::swap_be(from.val.dst_port),
          .destination_mask = layouts::swap_be(from.mask.dst_port),
          .source = layouts::swap_be(from.val.src_port),
          .source_mask = layouts::swap_be(from.mask.src_port)};
}

/// Adds a header. Returns false if the hardware has no such header.
bool add_header(const ibv_flow_spec& from, flow_rule_attributes& to) {
  if (to.header_count == to.most_headers) return false;
  flow_part& part = to.headers[to.header_count++];
  switch (from.hdr.type) {
    case IBV_FLOW_SPEC_ETH: {
      ethernet_flow ethernet;
      if (!read_ethernet(from.eth, ethernet)) return false;
      part = ethernet;
      return true;
    }
    case IBV_FLOW_SPEC_IPV4:
      part = ipv4_from(from.ipv4.val, from.ipv4.mask);
      return true;
    case IBV_FLOW_SPEC_IPV4_EXT: {
      const ibv_flow_ipv4_ext_filter& mask = from.ipv4_ext.mask;
      part = ipv4_from(from.ipv4_ext.val, mask);
      return from.hdr.size == sizeof from.ipv4_ext &&
             (mask.proto | mask.tos | mask.ttl | mask.flags) == 0;
    }
    case IBV_FLOW_SPEC_TCP:
      part = ports_from(from.tcp_udp);
      return true;
    case IBV_FLOW_SPEC_UDP:
      part = udp_flow{ports_from(from.tcp_udp)};
      return true;
    default:
      return false;
  }
}

/// The header of the link that each rule begins with. A rule by IPv4 alone has one that all packets
/// fit. On an InfiniBand port it has queue pair 0, as Linux writes it
/// (__mlx4_ib_create_default_rules, which says that the firmware ignores it).
flow_part link_header(bool on_ethernet) {
  constexpr std::uint32_t number_mask = 0xffffff;
  if (on_ethernet) return ethernet_flow{};
  return infiniband_flow{.qpn_mask = number_mask};
}

/// Translates the headers of a rule. Returns 0, or an errno.
int read_headers(engine& here, const ibv_flow_attr& from, flow_rule_attributes& to) {
  const bool on_ethernet = is_ethernet(here, from.port);
  const auto* at = reinterpret_cast<const std::byte*>(&from + 1);
  for (unsigned i = 0; i < from.num_of_specs; ++i) {
    const auto& spec = *reinterpret_cast<const ibv_flow_spec*>(at);
    const bool of_link = spec.hdr.type == IBV_FLOW_SPEC_ETH;
    if (of_link && !on_ethernet) return EINVAL;
    if (i == 0 && !of_link) to.headers[to.header_count++] = link_header(on_ethernet);
    if (!add_header(spec, to)) return EINVAL;
    at += spec.hdr.size;
  }
  return 0;
}

/// What libibverbs and the kernel check before mlx4_ib. Returns 0, or an errno.
int check_flow(engine& here, const ibv_qp& qp, const ibv_flow_attr& how) {
  constexpr std::uint32_t known = 7;         // IB_FLOW_ATTR_FLAGS_RESERVED
  constexpr std::uint8_t most_headers = 10;  // IB_FLOW_SPEC_SUPPORT_LAYERS
  const bool goes_on = (how.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
  const bool is_default =
      how.type == IBV_FLOW_ATTR_ALL_DEFAULT || how.type == IBV_FLOW_ATTR_MC_DEFAULT;
  if ((how.flags & ~known) != 0 || (goes_on && is_default) || how.num_of_specs > most_headers ||
      !here.is_port(how.port) || (qp.qp_type != IBV_QPT_UD && qp.qp_type != IBV_QPT_RAW_PACKET))
    return EINVAL;
  // The other flags: rules of sends, and copies of packets, for which the hardware has sniffers.
  return how.flags != 0 ? EOPNOTSUPP : 0;
}

/// A sniffer is two mirrors, which the driver does not have.
std::optional<layouts::flow_rule_type> rule_type_of(ibv_flow_attr_type from) {
  switch (from) {
    case IBV_FLOW_ATTR_NORMAL:
      return layouts::flow_rule_type::regular;
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      return layouts::flow_rule_type::all_default;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      return layouts::flow_rule_type::multicast_default;
    default:
      return {};
  }
}

}  // namespace

bool has_flow_rules(engine& here) {
  const device& hardware = here.hardware();
  if (!hardware.steers_by_rules()) return false;
  // As in mlx4_ib (check_flow_steering_support): IPoIB's packets are those of an InfiniBand port.
  if (hardware.capabilities().raw.get<&layouts::query_dev_cap::dmfs_ipoib>()) return true;
  for (unsigned port = 1; port <= here.ports(); ++port)
    if (!is_ethernet(here, port)) return false;
  return true;
}

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* how) {
  engine& here = engine_of(qp->context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<flow>();
  const engine::guard held(here.lock);
  if (!has_flow_rules(here)) return fail(EOPNOTSUPP);
  if (const int error = check_flow(here, *qp, *how); error != 0) return fail(error);
  const std::optional<layouts::flow_rule_type> type = rule_type_of(how->type);
  // What mlx4_ib sends lets no frame of the queue pair come back to it.
  flow_rule_attributes rule{
      .pair = of(qp).handle, .port = how->port, .priority = how->priority, .allow_loopback = false};
  if (!type) return fail(EINVAL);
  rule.type = *type;
  if (const int error = read_headers(here, *how, rule); error != 0) return fail(error);
  create_flow_rule create;
  if (const int error = here.perform(create, rule); error != 0) return fail(error);
  made->verbs.context = qp->context;
  made->handle = create.made();
  return &made.release()->verbs;
}

int destroy_flow(ibv_flow* gone) {
  engine& here = engine_of(gone->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    destroy_flow_rule destroy;
    if (const int error = here.perform(destroy, of(gone).handle); error != 0) return error;
  }
  delete &of(gone);
  return 0;
}

}  // namespace freehca::ibverbs

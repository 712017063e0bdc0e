// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/address_attributes.hpp>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>

namespace freehca {

using namespace layouts;

namespace {

// The rows from `sgid_index` on are fields of the GRH.
constexpr std::uint32_t rows_without_grh = 6, rows_of_grh = 4;
#define FREEHCA_ROW(member, field) \
  FREEHCA_FIELD_AS(infiniband_path, member, &address_vector::field, attribute_id::member)
constexpr auto infiniband_fields = fields_of<address_vector>(
    FREEHCA_ROW(dlid, rlid), FREEHCA_ROW(path_bits, my_lid_smac_idx),
    FREEHCA_ROW(static_rate, static_rate), FREEHCA_ROW(sl, sl),
    FREEHCA_FIELD(infiniband_path, force_loopback, &address_vector::force_loopback),
    FREEHCA_FIELD(infiniband_path, global, &address_vector::grh),
    FREEHCA_ROW(sgid_index, mgid_index), FREEHCA_ROW(flow_label, flow_label),
    FREEHCA_FIELD(infiniband_path, hop_limit, &address_vector::hop_limit),
    FREEHCA_FIELD(infiniband_path, traffic_class, &address_vector::tclass));
#undef FREEHCA_ROW
#define FREEHCA_ROW(member, field) \
  FREEHCA_FIELD_AS(roce_path, member, &address_vector::field, attribute_id::member)
constexpr auto roce_fields = fields_of<address_vector>(
    FREEHCA_ROW(static_rate, static_rate), FREEHCA_ROW(sgid_index, mgid_index),
    FREEHCA_ROW(flow_label, flow_label),
    FREEHCA_FIELD(roce_path, hop_limit, &address_vector::hop_limit),
    FREEHCA_FIELD(roce_path, traffic_class, &address_vector::tclass));
#undef FREEHCA_ROW

/// The code of a static rate in address paths and address vectors. If the device does not support
/// the code of `rate`, this is the next lower code that it supports, and at least that of 2.5 Gb/s.
/// Codes are not in the order of the rates: a lower code can mean a higher rate.
std::uint8_t static_rate_code(std::uint8_t rate, const capabilities& can) {
  if (rate == 0) return 0;
  const auto supported = static_cast<unsigned>(can.raw.get<&query_dev_cap::stat_rate_support>());
  constexpr unsigned slowest = static_cast<unsigned>(ib_rate::gbps_2_5) + static_rate_offset;
  unsigned code = rate + static_rate_offset;
  while (code > slowest && (code > 15 || (1u << code & supported) == 0)) --code;
  return static_cast<std::uint8_t>(code);
}

status set_static_rate(std::uint8_t& rate, verbs& in) {
  FREEHCA_TRY(in.refused().check(attribute_id::static_rate, rate,
                                 static_cast<unsigned>(ib_rate::gbps_100)));
  rate = static_rate_code(rate, in.adapter().capabilities());
  return {};
}

void set_dgid(image<address_vector>& to, const gid& dgid) {
  __builtin_memcpy(to.data() + row_of<&address_vector::dgid>.offset, dgid.raw, 16);
}

using id = attribute_id;

status write_infiniband(verbs& in, infiniband_path a, bool to_groups_too,
                        image<address_vector>& to) {
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(id::dlid, a.dlid,
                         a.global && to_groups_too ? 0xffff : first_multicast_lid - 1,
                         a.global ? 0 : 1));
  FREEHCA_TRY(set_static_rate(a.static_rate, in));
  FREEHCA_TRY(store(infiniband_fields, a, to, note, rows_without_grh, rows_of_grh));
  if (a.global) set_dgid(to, a.dgid);
  else to = {};
  return store(infiniband_fields, a, to, note, 0, rows_without_grh);
}

status write_roce(verbs& in, roce_path a, bool to_groups_too, image<address_vector>& to) {
  refused_attribute& note = in.refused();
  const port_address_tables& tables = in.adapter().addresses(a.port);
  const bool group = is_multicast_mac(a.dmac);
  FREEHCA_TRY(note.check(id::dmac, a.dmac, most_mac, 1));
  if (group && !to_groups_too) return note.refuse(id::dmac, a.dmac, a.dmac);
  FREEHCA_TRY(note.check(id::priority, a.priority, 7));
  if (a.vlan != no_vlan && tables.vlan_index(a.vlan) == 0)
    return note.refuse(id::vlan, a.vlan, a.vlan);
  const gid_type source = tables.gid(a.sgid_index);
  if (source == gid_type::none) return note.refuse(id::sgid_index, a.sgid_index, a.sgid_index);
  // Packets over IPv4 have IPv4 addresses at both ends, those over IPv6 at neither. On RoCE v1 any
  // pair of GIDs can stand in the GRH.
  const bool other_form =
      source != gid_type::v1 && is_ipv4(a.dgid) != (source == gid_type::v2_ipv4);
  if (a.dgid == gid{} || other_form || (is_multicast(a.dgid) && !to_groups_too))
    return note.refuse(id::dgid, 1, 1);
  FREEHCA_TRY(set_static_rate(a.static_rate, in));
  FREEHCA_TRY(store(roce_fields, a, to, note));
  set_dgid(to, a.dgid);
  // libmlx4 sets `grh`, Linux does not: on Ethernet packets always have a GRH or an IP header. A
  // multicast LID goes with a multicast GID (6.1 hw/mlx4/ah.c create_iboe_ah).
  to.set<&address_vector::grh>(true).set<&address_vector::rlid>(group ? first_multicast_lid : 0);
  to.set<&address_vector::sl>(sl_ethernet(a.priority));
  return {};
}

}  // namespace

status check_port(verbs& in, const address_attributes& path) {
  const capabilities& can = in.adapter().capabilities();
  FREEHCA_TRY(in.refused().check(id::port, path.port(), can.ports, 1));
  const port_type link = path.roce() != nullptr ? port_type::ethernet : port_type::ib;
  const port_type of_port = can.link_layer(path.port());
  if (of_port == link) return {};
  return in.refused().refuse(id::link_layer, static_cast<unsigned>(link),
                             static_cast<unsigned>(of_port));
}

status write_path(verbs& in, const address_attributes& path, bool to_groups_too,
                  image<address_vector>& to) {
  const roce_path* const roce = path.roce();
  return roce != nullptr ? write_roce(in, *roce, to_groups_too, to)
                         : write_infiniband(in, *path.infiniband(), to_groups_too, to);
}

// The fields are set as in Linux (6.1 hw/mlx4/qp.c _mlx4_set_path, handle_eth_ud_smac_index).
status write_path(verbs& in, const address_attributes& path, bool has_peer,
                  image<address_path>& to) {
  using l = address_path;
  if (has_peer) {
    image<address_vector> same;
    FREEHCA_TRY(write_path(in, path, false, same));
    same.set<&address_vector::sl>(0);  // it is in sched_queue
    __builtin_memcpy(to.data(), same.data(), same.size());
  }
  const roce_path* const roce = path.roce();
  if (roce == nullptr) {
    to.set<&l::sched_queue>(sched_queue_ib(path.port(), has_peer ? path.infiniband()->sl : 0u));
    return {};
  }
  const port_address_tables& tables = in.adapter().addresses(roce->port);
  if (!tables.has_mac(roce->mac_index))
    return in.refused().refuse(id::mac_index, roce->mac_index, roce->mac_index);
  to.set<&l::grh>(true)
      .set<&l::my_lid_smac_idx>(roce->mac_index)
      .set<&l::link_type>(path_link::ethernet)
      .set<&l::sched_queue>(sched_queue_ethernet(roce->port, has_peer ? roce->priority : 0u));
  if (!has_peer) return {};
  to.set<&l::dmac>(roce->dmac).set<&l::feup>(true);
  if (roce->vlan == no_vlan) return {};
  to.set<&l::vlan_index>(tables.vlan_index(roce->vlan)).set<&l::cv>(true).set<&l::fvl>(true);
  return {};
}

status write_address(verbs& in, pd_handle pd, const address_attributes& a, queues::address& to) {
  const protection_domain* const domain = in.find(pd);
  FREEHCA_TRY(verbs::usable(domain));
  FREEHCA_TRY(check_port(in, a));
  // The fields are set as in Linux (6.1 hw/mlx4/ah.c create_ib_ah, create_iboe_ah).
  to = {};
  FREEHCA_TRY(write_path(in, a, true, to.vector));
  to.vector.set<&address_vector::port>(a.port()).set<&address_vector::pd>(domain->number);
  const roce_path* const roce = a.roce();
  if (roce == nullptr) return {};
  std::uint16_t tag = no_vlan;
  if (roce->vlan != no_vlan) {
    image<vlan_tag> both;
    both.set<&vlan_tag::priority>(roce->priority).set<&vlan_tag::vid>(roce->vlan);
    tag = static_cast<std::uint16_t>(load_be<std::uint32_t>(both.data()));
    // Linux does not set this bit, libmlx4 does (rdma-core providers/mlx4/verbs.c mlx4_create_ah).
    to.vector.set<&address_vector::vlan_present>(true);
  }
  to.vlan_and_mac = in_word<&wqe_datagram::vlan>(tag) | in_word<&wqe_datagram::dmac>(roce->dmac);
  return {};
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>

#include "path_fields.hpp"

namespace freehca {

using namespace layouts;

namespace {

#define FREEHCA_ROW(member, field) \
  FREEHCA_FIELD_AS(roce_path, member, &address_vector::field, attribute_id::member)
constexpr auto roce_fields = fields_of<address_vector>(
    FREEHCA_ROW(static_rate, static_rate), FREEHCA_ROW(sgid_index, mgid_index),
    FREEHCA_ROW(flow_label, flow_label),
    FREEHCA_FIELD(roce_path, hop_limit, &address_vector::hop_limit),
    FREEHCA_FIELD(roce_path, traffic_class, &address_vector::tclass));
#undef FREEHCA_ROW

status write_vector(verbs& in, const roce_path& path, bool to_groups_too,
                    image<address_vector>& to) {
  roce_path a = path;
  refused_attribute& note = in.refused();
  const port_address_tables& tables = in.adapter().addresses(a.port);
  const bool group = is_multicast_mac(a.dmac);
  FREEHCA_TRY(note.check(attribute_id::dmac, a.dmac, most_mac, 1));
  if (group && !to_groups_too) return note.refuse(attribute_id::dmac, a.dmac, a.dmac);
  FREEHCA_TRY(note.check(attribute_id::priority, a.priority, 7));
  if (a.vlan != no_vlan && tables.vlan_index(a.vlan) == 0)
    return note.refuse(attribute_id::vlan, a.vlan, a.vlan);
  const gid_type source = tables.gid(a.sgid_index);
  if (source == gid_type::none)
    return note.refuse(attribute_id::sgid_index, a.sgid_index, a.sgid_index);
  // Packets over IPv4 have IPv4 addresses at both ends, those over IPv6 at neither. On RoCE v1 any
  // pair of GIDs can stand in the GRH.
  const bool other_form =
      source != gid_type::v1 && is_ipv4(a.dgid) != (source == gid_type::v2_ipv4);
  if (a.dgid == gid{} || other_form || is_multicast(a.dgid) != group)
    return note.refuse(attribute_id::dgid, 1, 1);
  FREEHCA_TRY(set_static_rate(a.static_rate, in));
  FREEHCA_TRY(store(roce_fields, a, to, note));
  set_dgid(to, a.dgid);
  // libmlx4 sets `grh`, Linux does not: on Ethernet packets always have a GRH or an IP header. A
  // multicast LID goes with a multicast GID (6.1 hw/mlx4/ah.c create_iboe_ah).
  to.set<&address_vector::grh>(true).set<&address_vector::rlid>(group ? first_multicast_lid : 0);
  to.set<&address_vector::sl>(sl_ethernet(a.priority));
  return {};
}

// The fields are set as in Linux (6.1 hw/mlx4/qp.c _mlx4_set_path, handle_eth_ud_smac_index).
status write_context(verbs& in, const roce_path& path, bool has_peer, image<address_path>& to) {
  using l = address_path;
  const port_address_tables& tables = in.adapter().addresses(path.port);
  if (!tables.has_mac(path.mac_index))
    return in.refused().refuse(attribute_id::mac_index, path.mac_index, path.mac_index);
  // The tables may change on another thread between the checks and this.
  const unsigned vlan = path.vlan == no_vlan ? 0 : tables.vlan_index(path.vlan);
  if (vlan == 0 && path.vlan != no_vlan)
    return in.refused().refuse(attribute_id::vlan, path.vlan, path.vlan);
  to.set<&l::grh>(true)
      .set<&l::my_lid_smac_idx>(path.mac_index)
      .set<&l::link_type>(path_link::ethernet)
      .set<&l::sched_queue>(sched_queue_ethernet(path.port, has_peer ? path.priority : 0u));
  if (!has_peer) return {};
  to.set<&l::dmac>(path.dmac).set<&l::feup>(true);
  if (vlan != 0) to.set<&l::vlan_index>(vlan).set<&l::cv>(true).set<&l::fvl>(true);
  return {};
}

std::uint32_t write_transition(verbs& in, const roce_path& path, qp_state to, bool has_peer,
                               std::uint32_t number, image<qpc>& context) {
  const device& d = in.adapter();
  // Linux mixes the two queue pair numbers. One of them is enough to tell connections apart.
  if (to == qp_state::rts && d.capabilities().has(bmme_flag::roce_v1_v2))
    context.set<&qpc::roce_entropy>(roce_v2_first_source_port | (number & 0x3fff));
  if (to != qp_state::rtr) return 0;
  const bool v1 = d.addresses(path.port).gid(path.sgid_index) == gid_type::v1;
  if (has_peer) context.set<&qpc::roce>(v1 ? roce_mode::v1 : roce_mode::v2);
  // On Ethernet the path of a queue pair without a peer has its source MAC.
  return qp_optpar::primary_path;
}

// As in Linux (6.1 hw/mlx4/ah.c create_iboe_ah).
std::uint64_t write_vlan_and_mac(const roce_path& path, image<address_vector>& to) {
  std::uint16_t tag = no_vlan;
  if (path.vlan != no_vlan) {
    image<vlan_tag> both;
    both.set<&vlan_tag::priority>(path.priority).set<&vlan_tag::vid>(path.vlan);
    tag = static_cast<std::uint16_t>(load_be<std::uint32_t>(both.data()));
    // Linux does not set this bit, libmlx4 does (rdma-core providers/mlx4/verbs.c mlx4_create_ah).
    to.set<&address_vector::vlan_present>(true);
  }
  return in_word<&wqe_datagram::vlan>(tag) | in_word<&wqe_datagram::dmac>(path.dmac);
}

}  // namespace

const roce_functions write_roce{&write_vector, &write_context, &write_transition,
                                &write_vlan_and_mac};

}  // namespace freehca

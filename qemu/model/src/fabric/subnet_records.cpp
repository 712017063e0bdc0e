// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Queries about ports and the paths between them.
#include <algorithm>

#include "fabric/subnet_administrator.hpp"

namespace freehca::model {

using namespace layouts;
namespace component = record_component;

namespace {

constexpr std::uint64_t packet_life = 18;  // OpenSM's default, 4.096 us * 2^18
constexpr std::uint16_t whole_key = 0x7fff;

bool has(std::uint64_t components, std::uint64_t bit) {
  return (components & bit) != 0;
}

/// The components of node_info_at and port_info_at that a query can name besides those in
/// record_component are not looked at one by one: a query that names them gets what its LID and
/// GUIDs select.
template <class T>
image<T> with_lid(const known_port& p);
template <>
image<node_record> with_lid<node_record>(const known_port& p) {
  image<node_record> r;
  r.set<&node_record::lid>(p.lid()).set_bytes<&node_record::description>(p.description.data());
  std::copy_n(p.node.data(), node_info::bytes, r.data() + 4);
  return r;
}
template <>
image<port_info_record> with_lid<port_info_record>(const known_port& p) {
  image<port_info_record> r;
  r.set<&port_info_record::endport_lid>(p.lid()).set<&port_info_record::port_num>(
      p.info.get<&port_info::local_port_num>());
  std::copy_n(p.info.data(), port_info::bytes, r.data() + 4);
  return r;
}

ib_mtu path_mtu(const known_port& a, const known_port& b) {
  return std::min(a.info.get<&port_info::neighbor_mtu>(), b.info.get<&port_info::neighbor_mtu>());
}
ib_rate path_rate(const known_port& a, const known_port& b) {
  const ib_rate ra = rate_of(a), rb = rate_of(b);
  return tenths_of_gbps(ra) < tenths_of_gbps(rb) ? ra : rb;
}

bool path_matches(const image<path_record>& q, std::uint64_t components, const known_port& from,
                  const known_port& to) {
  using l = path_record;
  namespace pc = path_component;
  const auto covers = [](const known_port& p, std::uint64_t lid) {
    return lid >= p.lid() && lid < p.lid() + (1u << p.info.get<&port_info::lmc>());
  };
  const auto in_order = [](std::uint64_t life) { return life; };
  if (from.lid() == 0 || to.lid() == 0) return false;
  return (!has(components, pc::sgid) || from.has_gid(q.bytes_of<&l::sgid>())) &&
         (!has(components, pc::dgid) || to.has_gid(q.bytes_of<&l::dgid>())) &&
         (!has(components, pc::slid) || covers(from, q.get<&l::slid>())) &&
         (!has(components, pc::dlid) || covers(to, q.get<&l::dlid>())) &&
         (!has(components, pc::raw_traffic) || !q.get<&l::raw_traffic>()) &&
         (!has(components, pc::pkey) || (q.get<&l::pkey>() & whole_key) == whole_key) &&
         (!has(components, pc::sl) || q.get<&l::sl>() == 0) &&
         (!has(components, pc::mtu) || !has(components, pc::mtu_selector) ||
          selected(q.get<&l::mtu_selector>(), q.get<&l::mtu>(), path_mtu(from, to), order_of)) &&
         (!has(components, pc::rate) || !has(components, pc::rate_selector) ||
          selected(q.get<&l::rate_selector>(), q.get<&l::rate>(), path_rate(from, to),
                   tenths_of_gbps)) &&
         (!has(components, pc::packet_life) || !has(components, pc::packet_life_selector) ||
          selected(q.get<&l::packet_life_selector>(), q.get<&l::packet_life>(), packet_life,
                   in_order));
}

}  // namespace

subnet_administrator::outcome subnet_administrator::nodes(const image<sa_mad>& request) const {
  outcome o;
  const auto q = attribute<&sa_mad::data, node_record>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  for (const known_port* p : subnet_.ports()) {
    const auto r = with_lid<node_record>(*p);
    if ((has(components, component::node_lid) && q.get<&node_record::lid>() != p->lid()) ||
        (has(components, component::node_guid) &&
         q.get<&node_record_info::node_guid>() != r.get<&node_record_info::node_guid>()) ||
        (has(components, component::node_port_guid) &&
         q.get<&node_record_info::port_guid>() != p->guid()))
      continue;
    o.records.add(r);
  }
  return o;
}

subnet_administrator::outcome subnet_administrator::port_infos(const image<sa_mad>& request) const {
  outcome o;
  const auto q = attribute<&sa_mad::data, port_info_record>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  // Bit 31 of the modifier: the capability mask is a set of bits that must be there (IBTA vol. 1,
  // 15.2.5.3).
  const bool any_with_bits = (request.get<&sa_mad::attribute_modifier>() >> 31) != 0;
  for (const known_port* p : subnet_.ports()) {
    const auto mask = p->info.get<&port_info::capability_mask>();
    const auto wanted_mask = q.get<&port_record_info::capability_mask>();
    const bool masks = has(components, component::port_capability_mask);
    if ((has(components, component::port_lid) &&
         q.get<&port_info_record::endport_lid>() != p->lid()) ||
        (has(components, component::port_num) &&
         q.get<&port_info_record::port_num>() != p->info.get<&port_info::local_port_num>()) ||
        (masks && (any_with_bits ? (mask & wanted_mask) != wanted_mask : mask != wanted_mask)))
      continue;
    o.records.add(with_lid<port_info_record>(*p));
  }
  return o;
}

subnet_administrator::outcome subnet_administrator::guid_infos(const image<sa_mad>& request) const {
  outcome o;
  const auto q = attribute<&sa_mad::data, guid_info_record>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  for (const known_port* p : subnet_.ports()) {
    if ((has(components, component::guid_lid) && q.get<&guid_info_record::lid>() != p->lid()) ||
        (has(components, component::guid_block_number) &&
         q.get<&guid_info_record::block_number>() != 0))
      continue;
    o.records.add(image<guid_info_record>{}
                      .set<&guid_info_record::lid>(p->lid())
                      .set_bytes<&guid_info_record::guids>(p->guids.data()));
  }
  return o;
}

subnet_administrator::outcome subnet_administrator::pkey_tables(
    const image<sa_mad>& request) const {
  outcome o;
  const auto q = attribute<&sa_mad::data, pkey_table_record>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  for (const known_port* p : subnet_.ports()) {
    if ((has(components, component::pkey_lid) && q.get<&pkey_table_record::lid>() != p->lid()) ||
        (has(components, component::pkey_block_number) &&
         q.get<&pkey_table_record::block_number>() != 0))
      continue;
    o.records.add(image<pkey_table_record>{}
                      .set<&pkey_table_record::lid>(p->lid())
                      .set_bytes<&pkey_table_record::pkeys>(p->pkeys.data()));
  }
  return o;
}

subnet_administrator::outcome subnet_administrator::sm_infos(const image<sa_mad>& request) const {
  outcome o;
  const auto q = attribute<&sa_mad::data, sm_info_record>(request);
  const known_port& p = subnet_.manager;
  if (has(request.get<&sa_mad::component_mask>(), component::sm_info_lid) &&
      q.get<&sm_info_record::lid>() != p.lid())
    return o;
  o.records.add(image<sm_info_record>{}
                    .set<&sm_info_record::lid>(p.lid())
                    .set<&sm_info_record::guid>(p.guid())
                    .set<&sm_info_record::priority>(manager_priority)
                    .set<&sm_info_record::state>(sm_state::master));
  return o;
}

subnet_administrator::outcome subnet_administrator::links(const image<sa_mad>& request) const {
  using l = link_record;
  outcome o;
  if (!subnet_.managed_known) return o;
  const auto q = attribute<&sa_mad::data, l>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  // The one link, from each of its ends.
  const known_port* const ends[] = {&subnet_.manager, &subnet_.managed};
  for (unsigned i = 0; i < 2; ++i) {
    const known_port &from = *ends[i], &to = *ends[1 - i];
    const auto r = image<l>{}
                       .set<&l::from_lid>(from.lid())
                       .set<&l::from_port>(from.info.get<&port_info::local_port_num>())
                       .set<&l::to_port>(to.info.get<&port_info::local_port_num>())
                       .set<&l::to_lid>(to.lid());
    if ((has(components, component::link_from_lid) &&
         q.get<&l::from_lid>() != r.get<&l::from_lid>()) ||
        (has(components, component::link_from_port) &&
         q.get<&l::from_port>() != r.get<&l::from_port>()) ||
        (has(components, component::link_to_port) &&
         q.get<&l::to_port>() != r.get<&l::to_port>()) ||
        (has(components, component::link_to_lid) && q.get<&l::to_lid>() != r.get<&l::to_lid>()))
      continue;
    o.records.add(r);
  }
  return o;
}

subnet_administrator::outcome subnet_administrator::subscriptions(
    const image<sa_mad>& request) const {
  outcome o;
  o.records.add_all(subscriptions_.query(attribute<&sa_mad::data, inform_info_record>(request),
                                         request.get<&sa_mad::component_mask>()));
  return o;
}

subnet_administrator::outcome subnet_administrator::paths(const image<sa_mad>& request) const {
  using l = path_record;
  outcome o;
  const auto q = attribute<&sa_mad::data, path_record>(request);
  const auto components = request.get<&sa_mad::component_mask>();
  for (const known_port* from : subnet_.ports())
    for (const known_port* to : subnet_.ports()) {
      if (!path_matches(q, components, *from, *to)) continue;
      const gid_bytes sgid = from->gid(), dgid = to->gid();
      image<path_record> r;
      r.set_bytes<&l::sgid>(has(components, path_component::sgid) ? q.bytes_of<&l::sgid>()
                                                                  : sgid.data())
          .set_bytes<&l::dgid>(has(components, path_component::dgid) ? q.bytes_of<&l::dgid>()
                                                                     : dgid.data())
          .set<&l::slid>(from->lid())
          .set<&l::dlid>(to->lid())
          .set<&l::reversible>(true)
          .set<&l::pkey>(default_pkey_full)
          .set<&l::mtu_selector>(sa_selector::exactly)
          .set<&l::mtu>(path_mtu(*from, *to))
          .set<&l::rate_selector>(sa_selector::exactly)
          .set<&l::rate>(path_rate(*from, *to))
          .set<&l::packet_life_selector>(sa_selector::exactly)
          .set<&l::packet_life>(packet_life);
      o.records.add(r);
    }
  return o;
}

}  // namespace freehca::model

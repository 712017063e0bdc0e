// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/address_attributes.hpp>

#include <freehca/layouts/ib_types.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>

#include "path_fields.hpp"

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

status write_infiniband(verbs& in, infiniband_path a, bool to_groups_too,
                        image<address_vector>& to) {
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(attribute_id::dlid, a.dlid,
                         a.global && to_groups_too ? 0xffff : first_multicast_lid - 1,
                         a.global ? 0 : 1));
  FREEHCA_TRY(set_static_rate(a.static_rate, in));
  FREEHCA_TRY(store(infiniband_fields, a, to, note, rows_without_grh, rows_of_grh));
  if (a.global) set_dgid(to, a.dgid);
  else to = {};
  return store(infiniband_fields, a, to, note, 0, rows_without_grh);
}

}  // namespace

status set_static_rate(std::uint8_t& rate, verbs& in) {
  FREEHCA_TRY(in.refused().check(attribute_id::static_rate, rate,
                                 static_cast<unsigned>(ib_rate::gbps_100)));
  rate = static_rate_code(rate, in.adapter().capabilities());
  return {};
}

void set_dgid(image<address_vector>& to, const gid& dgid) {
  __builtin_memcpy(to.data() + row_of<&address_vector::dgid>.offset, dgid.raw, 16);
}

status check_port(verbs& in, const address_attributes& path) {
  const capabilities& can = in.adapter().capabilities();
  FREEHCA_TRY(in.refused().check(attribute_id::port, path.port(), can.ports, 1));
  const port_type link = path.roce() != nullptr ? port_type::ethernet : port_type::ib;
  const port_type of_port = can.link_layer(path.port());
  if (of_port == link) return {};
  return in.refused().refuse(attribute_id::link_layer, static_cast<unsigned>(link),
                             static_cast<unsigned>(of_port));
}

status write_path(verbs& in, const address_attributes& path, bool to_groups_too,
                  image<address_vector>& to) {
  const roce_functions* const write = path.write();
  return write != nullptr ? write->vector(in, *path.roce(), to_groups_too, to)
                          : write_infiniband(in, *path.infiniband(), to_groups_too, to);
}

// The fields are set as in Linux (6.1 hw/mlx4/qp.c _mlx4_set_path).
status write_path(verbs& in, const address_attributes& path, bool has_peer,
                  image<address_path>& to) {
  if (has_peer) {
    image<address_vector> same;
    FREEHCA_TRY(write_path(in, path, false, same));
    same.set<&address_vector::sl>(0);  // it is in sched_queue
    __builtin_memcpy(to.data(), same.data(), same.size());
  }
  if (const roce_functions* const write = path.write(); write != nullptr)
    return write->context(in, *path.roce(), has_peer, to);
  to.set<&address_path::sched_queue>(
      sched_queue_ib(path.port(), has_peer ? path.infiniband()->sl : 0u));
  return {};
}

status write_address(verbs& in, pd_handle pd, const address_attributes& a, queues::address& to) {
  const protection_domain* const domain = in.find(pd);
  FREEHCA_TRY(verbs::usable(domain));
  FREEHCA_TRY(check_port(in, a));
  // The fields are set as in Linux (6.1 hw/mlx4/ah.c create_ib_ah).
  FREEHCA_TRY(write_path(in, a, true, to.vector));
  to.vector.set<&address_vector::port>(a.port()).set<&address_vector::pd>(domain->number);
  if (const roce_functions* const write = a.write(); write != nullptr)
    to.vlan_and_mac = write->vlan_and_mac(*a.roce(), to.vector);
  return {};
}

}  // namespace freehca

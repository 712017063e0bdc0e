// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/address_attributes.hpp>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/hca/kinds/protection_domain.hpp>

namespace freehca {

using namespace layouts;

namespace {

// The rows from `sgid_index` on are fields of the GRH.
constexpr std::uint32_t rows_without_grh = 6, rows_of_grh = 4;
#define FREEHCA_ROW(member, field) \
  FREEHCA_FIELD_AS(address_attributes, member, &address_vector::field, attribute_id::member)
constexpr auto path_fields = fields_of<address_vector>(
    FREEHCA_ROW(dlid, rlid), FREEHCA_ROW(path_bits, my_lid_smac_idx),
    FREEHCA_ROW(static_rate, static_rate), FREEHCA_ROW(sl, sl),
    FREEHCA_FIELD(address_attributes, force_loopback, &address_vector::force_loopback),
    FREEHCA_FIELD(address_attributes, global, &address_vector::grh),
    FREEHCA_ROW(sgid_index, mgid_index), FREEHCA_ROW(flow_label, flow_label),
    FREEHCA_FIELD(address_attributes, hop_limit, &address_vector::hop_limit),
    FREEHCA_FIELD(address_attributes, traffic_class, &address_vector::tclass));
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

}  // namespace

status check_port(verbs& in, unsigned port) {
  const capabilities& can = in.adapter().capabilities();
  FREEHCA_TRY(in.refused().check(attribute_id::port, port, can.ports, 1));
  return can.link_layer(port) == port_type::ib ? status() : status(driver_error::unsupported);
}

status write_path(verbs& in, address_attributes a, bool to_groups_too, image<address_vector>& to) {
  using id = attribute_id;
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(id::dlid, a.dlid,
                         a.global && to_groups_too ? 0xffff : first_multicast_lid - 1,
                         a.global ? 0 : 1));
  FREEHCA_TRY(note.check(id::static_rate, a.static_rate, static_cast<unsigned>(ib_rate::gbps_100)));
  a.static_rate = static_rate_code(a.static_rate, in.adapter().capabilities());
  FREEHCA_TRY(store(path_fields, a, to, note, rows_without_grh, rows_of_grh));
  if (a.global) __builtin_memcpy(to.data() + row_of<&address_vector::dgid>.offset, a.dgid.raw, 16);
  else to = {};
  return store(path_fields, a, to, note, 0, rows_without_grh);
}

status write_address(verbs& in, pd_handle pd, const address_attributes& a, queues::address& to) {
  const protection_domain* const domain = in.find(pd);
  FREEHCA_TRY(verbs::usable(domain));
  FREEHCA_TRY(check_port(in, a.port));
  // The fields are set as in Linux (6.1 hw/mlx4/ah.c create_ib_ah).
  to = {};
  FREEHCA_TRY(write_path(in, a, true, to.vector));
  to.vector.set<&address_vector::port>(a.port).set<&address_vector::pd>(domain->number);
  return {};
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/ports.hpp>

#include <freehca/hal/fields.hpp>

namespace freehca {

using layouts::smp;

void subnet_query::start(channel& commands, unsigned port, layouts::smp_attribute attribute,
                         std::uint32_t modifier) {
  if (!startable()) return;
  begin_parts(&answered);
  prepare(port, attribute, modifier);
  send(commands);
}

void subnet_query::prepare(unsigned port, layouts::smp_attribute attribute,
                           std::uint32_t modifier) {
  // M_Key and B_Key protect against requests from the wire, not against the host itself (Linux 6.1
  // hw/mlx4/mad.c).
  const auto flags = static_cast<std::uint32_t>(layouts::mad_ifc_modifier::ignore_mkey) |
                     static_cast<std::uint32_t>(layouts::mad_ifc_modifier::ignore_bkey);
  part(mad_).aim(std::uint32_t{port}, flags);
  mad_.input = {};
  mad_.input.set<&smp::base_version>(layouts::mad_base_version)
      .set<&smp::mgmt_class>(layouts::mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(layouts::mad_method::get)
      .set<&smp::attribute_id>(static_cast<std::uint16_t>(attribute))
      .set<&smp::attribute_modifier>(modifier);
}

void subnet_query::answered(stepper& self, status outcome) noexcept {
  auto& q = static_cast<subnet_query&>(self);
  if (outcome.ok()) {
    const auto refused = q.mad_.output.get<&smp::status>();
    if (refused != layouts::mad_status::success)
      outcome = status(transport_error::bad_reply, static_cast<unsigned>(refused));
  }
  q.complete(outcome);
}

void port_query::read_into(port_attributes& to) const {
  using layouts::port_info;
#define FREEHCA_ROW(member, field) FREEHCA_FIELD(port_attributes, member, &port_info::field)
  static constexpr auto rows = fields_of<port_info>(
      FREEHCA_ROW(state, state), FREEHCA_ROW(physical_state, physical_state), FREEHCA_ROW(lid, lid),
      FREEHCA_ROW(sm_lid, master_sm_lid), FREEHCA_ROW(sm_sl, master_sm_sl), FREEHCA_ROW(lmc, lmc),
      FREEHCA_ROW(capability_mask, capability_mask), FREEHCA_ROW(subnet_prefix, gid_prefix),
      FREEHCA_ROW(max_mtu, mtu_cap), FREEHCA_ROW(active_mtu, neighbor_mtu),
      FREEHCA_ROW(active_width, link_width_active), FREEHCA_ROW(active_speed, link_speed_active),
      FREEHCA_ROW(active_speed_ext, link_speed_ext_active));
#undef FREEHCA_ROW
  load(rows, attribute<port_info>(), to);
}

std::uint64_t guid_query::guid(unsigned i) const {
  FREEHCA_ASSERT(i < layouts::guids_per_block);
  const auto block = attribute<layouts::guid_info>();
  return layouts::load_be<std::uint64_t>(block.bytes_of<&layouts::guid_info::guids>() + i % 8 * 8);
}

std::uint16_t pkey_query::pkey(unsigned i) const {
  FREEHCA_ASSERT(i < layouts::pkeys_per_block);
  const auto block = attribute<layouts::pkey_table>();
  return layouts::load_be<std::uint16_t>(block.bytes_of<&layouts::pkey_table::pkeys>() +
                                         i % 32 * 2);
}

gid gid_of(std::uint64_t subnet_prefix, std::uint64_t guid) {
  gid g;
  for (unsigned i = 0; i < 8; ++i) {
    g.raw[i] = static_cast<std::uint8_t>(subnet_prefix >> (56 - 8 * i));
    g.raw[8 + i] = static_cast<std::uint8_t>(guid >> (56 - 8 * i));
  }
  return g;
}

}  // namespace freehca

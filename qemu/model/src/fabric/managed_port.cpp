// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/managed_port.hpp"

#include <algorithm>
#include <cstring>

namespace freehca::model {

using namespace layouts;

void node_identity::describe(const char* text) {
  description.fill(std::byte{0});
  std::memcpy(description.data(), text, std::min(std::strlen(text), description.size()));
}

managed_port managed_port::at_power_on(unsigned number, std::uint64_t guid,
                                       std::uint32_t capability_mask) {
  constexpr unsigned x1_and_x4 = 3, sdr_ddr_qdr = 7, polling = 2, error_threshold = 8;
  managed_port p;
  p.guid = guid;
  p.guids[0] = guid;
  p.pkeys[0] = default_pkey_full;
  // Where no capture names a value (VL arbitration capacities, error thresholds, response time): no
  // source, chosen. The rest is what CX-3 cards report: captures.
  p.info.set<&port_info::gid_prefix>(default_subnet_prefix)
      .set<&port_info::capability_mask>(capability_mask)
      .set<&port_info::local_port_num>(number)
      .set<&port_info::link_width_enabled>(x1_and_x4)
      .set<&port_info::link_width_supported>(x1_and_x4)
      .set<&port_info::link_width_active>(link_width::x4)
      .set<&port_info::link_speed_supported>(sdr_ddr_qdr)
      .set<&port_info::link_speed_enabled>(sdr_ddr_qdr)
      .set<&port_info::link_speed_active>(link_speed::sdr)
      .set<&port_info::state>(layouts::port_state::down)
      .set<&port_info::physical_state>(port_physical_state::disabled)
      .set<&port_info::link_down_default>(polling)
      .set<&port_info::neighbor_mtu>(ib_mtu::mtu_4096)
      .set<&port_info::mtu_cap>(ib_mtu::mtu_4096)
      .set<&port_info::vl_cap>(vl_code::vl0_7)
      .set<&port_info::operational_vls>(vl_code::vl0_7)
      .set<&port_info::vl_arb_high_cap>(vl_arbitration_entries)
      .set<&port_info::vl_arb_low_cap>(vl_arbitration_entries)
      .set<&port_info::guid_cap>(guids_at_most)
      .set<&port_info::resp_time>(16)
      .set<&port_info::local_phy_errors>(error_threshold)
      .set<&port_info::overrun_errors>(error_threshold);
  if ((capability_mask & port_capability::extended_speeds) != 0)
    p.info.set<&port_info::link_speed_ext_supported>(1).set<&port_info::link_speed_ext_enabled>(1);
  p.sl_to_vl.set<&sl_to_vl_table::vls>(0x0123456701234567);
  return p;
}

const char* managed_port::broken_invariant() const {
  // Sizes of tables, and codes that are turned into numbers to divide by or to shift by. Neither
  // SET_PORT nor Set(PortInfo) takes others.
  const auto mtu = [](ib_mtu code) { return layouts::mtu_bytes(code) != 0; };
  const auto lanes = [](vl_code code) { return code >= vl_code::vl0 && code <= vl_code::vl0_14; };
  if (pkey_entries == 0 || pkey_entries > pkeys_at_most) return "the P_Key table has another size";
  if (guid_entries() > guids_at_most) return "the GUID table has another size";
  if (!mtu(info.get<&port_info::neighbor_mtu>()) || !mtu(info.get<&port_info::mtu_cap>()))
    return "PortInfo has a code that is no MTU";
  if (!lanes(info.get<&port_info::vl_cap>()) || !lanes(info.get<&port_info::operational_vls>()))
    return "PortInfo has a code that is no number of virtual lanes";
  return nullptr;
}

image<node_info> node_info_of(const node_identity& node, const managed_port& port) {
  return image<node_info>{}
      .set<&node_info::base_version>(mad_base_version)
      .set<&node_info::class_version>(1)
      .set<&node_info::type>(node_type::channel_adapter)
      .set<&node_info::num_ports>(node.ports)
      .set<&node_info::system_image_guid>(node.system_image_guid)
      .set<&node_info::node_guid>(node.node_guid)
      .set<&node_info::port_guid>(port.guid)
      .set<&node_info::partition_cap>(managed_port::pkeys_at_most)
      .set<&node_info::device_id>(node.device_id)
      .set<&node_info::revision>(node.revision)
      .set<&node_info::local_port_num>(port.info.get<&port_info::local_port_num>())
      .set<&node_info::vendor_id>(node.vendor_id);
}

}  // namespace freehca::model

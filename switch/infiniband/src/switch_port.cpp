// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/switch_port.hpp>

#include <algorithm>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

// no source: chosen. Four lanes' worth of service levels and more are told apart where the far end
// has as many lanes: the modelled adapters have eight.
constexpr std::uint64_t sl_modulo_eight = 0x0123456701234567;
constexpr unsigned x1_and_x4 = 3, sdr_ddr_qdr = 7, fdr = 1, error_threshold = 8;
constexpr std::uint16_t membership = 0x8000;

}  // namespace

switch_port switch_port::at_power_on(unsigned number) {
  const bool management = number == 0;
  switch_port p;
  for (auto& table : p.sl_to_vl) table.set<&sl_to_vl_table::vls>(sl_modulo_eight);
  p.info.set<&port_info::local_port_num>(number)
      .set<&port_info::link_width_enabled>(x1_and_x4)
      .set<&port_info::link_width_supported>(x1_and_x4)
      .set<&port_info::link_width_active>(link_width::x4)
      .set<&port_info::link_speed_supported>(sdr_ddr_qdr)
      .set<&port_info::link_speed_enabled>(sdr_ddr_qdr)
      .set<&port_info::link_speed_active>(management ? link_speed::qdr : link_speed::sdr)
      .set<&port_info::link_speed_ext_supported>(fdr)
      .set<&port_info::link_speed_ext_enabled>(fdr)
      .set<&port_info::link_speed_ext_active>(management ? link_speed_ext::fdr
                                                         : link_speed_ext::none)
      .set<&port_info::state>(management ? port_state::active : port_state::down)
      .set<&port_info::physical_state>(management ? port_physical_state::link_up
                                                  : port_physical_state::polling)
      .set<&port_info::link_down_default>(packets::polling_by_default)
      .set<&port_info::neighbor_mtu>(ib_mtu::mtu_4096)
      .set<&port_info::mtu_cap>(ib_mtu::mtu_4096)
      .set<&port_info::vl_cap>(management ? vl_code::vl0 : vl_code::vl0_7)
      .set<&port_info::operational_vls>(management ? vl_code::vl0 : vl_code::vl0_7)
      .set<&port_info::local_phy_errors>(error_threshold)
      .set<&port_info::overrun_errors>(error_threshold);
  if (!management) {
    p.info.set<&port_info::vl_arb_high_cap>(vl_arbitration_entries)
        .set<&port_info::vl_arb_low_cap>(vl_arbitration_entries);
    return p;
  }
  constexpr unsigned response_time = 16;  // no source: chosen, as the adapters' own
  p.info.set<&port_info::gid_prefix>(default_subnet_prefix)
      .set<&port_info::capability_mask>(port_capability::trap | port_capability::sl_mapping |
                                        port_capability::system_image_guid |
                                        port_capability::extended_speeds)
      .set<&port_info::guid_cap>(1)
      .set<&port_info::resp_time>(response_time);
  return p;
}

bool switch_port::admits(std::uint16_t pkey) const {
  return std::ranges::any_of(pkeys, [pkey](std::uint16_t own) {
    return ((own ^ pkey) & ~membership) == 0 && ((own | pkey) & membership) != 0 &&
           (own & ~membership) != 0;
  });
}

}  // namespace freehca::infiniband_switch

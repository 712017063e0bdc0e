// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Set(PortInfo): which values a port takes (IBTA vol. 1, 14.2.5.6). A Set with one bad field
// changes nothing.
#include "fabric/management_agent.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr unsigned no_change = 0, polling_state = 2;

bool unicast(std::uint64_t lid) {
  return lid != 0 && lid < first_multicast_lid;
}

/// "enabled" widths and speeds: no change, everything supported, or a part of what is supported.
bool enabled_valid(std::uint64_t enabled, std::uint64_t supported, std::uint64_t everything) {
  return enabled == everything || (enabled & ~supported) == 0;
}
std::uint64_t enabled_becomes(std::uint64_t enabled, std::uint64_t before, std::uint64_t supported,
                              std::uint64_t everything) {
  return enabled == no_change ? before : enabled == everything ? supported : enabled;
}

bool state_reachable(port_state from, port_state to) {
  switch (to) {
    case port_state::no_change:
    case port_state::down:
      return true;
    case port_state::armed:
      return from == port_state::initialize || from == port_state::armed;
    case port_state::active:
      return from == port_state::armed || from == port_state::active;
    case port_state::initialize:
      break;
  }
  return false;
}

constexpr std::uint64_t all_widths = 0xff, all_speeds = 0xf, all_extended_speeds = 0x1f;
// IBTA 1.3 table 155: 30 disables extended speeds.
constexpr std::uint64_t extended_speeds_off = 30;

}  // namespace

bool management_agent::port_info_valid(const image<port_info>& w) const {
  const image<port_info>& now = port_.info;
  const auto mtu = static_cast<unsigned>(w.get<&port_info::neighbor_mtu>());
  const auto physical = w.get<&port_info::physical_state>();
  const auto extended = w.get<&port_info::link_speed_ext_enabled>();
  return unicast(w.get<&port_info::lid>()) && unicast(w.get<&port_info::master_sm_lid>()) &&
         w.get<&port_info::lid>() % (1u << w.get<&port_info::lmc>()) == 0 &&
         enabled_valid(w.get<&port_info::link_width_enabled>(),
                       now.get<&port_info::link_width_supported>(), all_widths) &&
         enabled_valid(w.get<&port_info::link_speed_enabled>(),
                       now.get<&port_info::link_speed_supported>(), all_speeds) &&
         (extended == extended_speeds_off ||
          enabled_valid(extended, now.get<&port_info::link_speed_ext_supported>(),
                        all_extended_speeds)) &&
         state_reachable(now.get<&port_info::state>(), w.get<&port_info::state>()) &&
         physical <= port_physical_state::disabled &&
         w.get<&port_info::link_down_default>() <= polling_state && mtu >= 1 &&
         mtu <= static_cast<unsigned>(now.get<&port_info::mtu_cap>()) &&
         w.get<&port_info::operational_vls>() <= now.get<&port_info::vl_cap>();
}

std::uint16_t management_agent::set_port_info(const image<smp>& m, view& shown) {
  if (!own_port(m.get<&smp::attribute_modifier>())) return mad_status::invalid_attribute_value;
  const auto wanted = attribute<&smp::data, port_info>(m);
  if (!port_info_valid(wanted)) return mad_status::invalid_attribute_value;

  const image<port_info> before = port_.info;
  image<port_info>& i = port_.info;
  i.set<&port_info::mkey>(wanted.get<&port_info::mkey>())
      .set<&port_info::gid_prefix>(wanted.get<&port_info::gid_prefix>())
      .set<&port_info::lid>(wanted.get<&port_info::lid>())
      .set<&port_info::master_sm_lid>(wanted.get<&port_info::master_sm_lid>())
      .set<&port_info::mkey_lease_period>(wanted.get<&port_info::mkey_lease_period>())
      .set<&port_info::mkey_protect>(wanted.get<&port_info::mkey_protect>())
      .set<&port_info::lmc>(wanted.get<&port_info::lmc>())
      .set<&port_info::neighbor_mtu>(wanted.get<&port_info::neighbor_mtu>())
      .set<&port_info::master_sm_sl>(wanted.get<&port_info::master_sm_sl>())
      .set<&port_info::vl_high_limit>(wanted.get<&port_info::vl_high_limit>())
      .set<&port_info::init_type_reply>(wanted.get<&port_info::init_type_reply>())
      .set<&port_info::mkey_violations>(wanted.get<&port_info::mkey_violations>())
      .set<&port_info::pkey_violations>(wanted.get<&port_info::pkey_violations>())
      .set<&port_info::qkey_violations>(wanted.get<&port_info::qkey_violations>())
      .set<&port_info::subnet_timeout>(wanted.get<&port_info::subnet_timeout>())
      .set<&port_info::local_phy_errors>(wanted.get<&port_info::local_phy_errors>())
      .set<&port_info::overrun_errors>(wanted.get<&port_info::overrun_errors>())
      .set<&port_info::link_width_enabled>(
          enabled_becomes(wanted.get<&port_info::link_width_enabled>(),
                          before.get<&port_info::link_width_enabled>(),
                          before.get<&port_info::link_width_supported>(), all_widths))
      .set<&port_info::link_speed_enabled>(
          enabled_becomes(wanted.get<&port_info::link_speed_enabled>(),
                          before.get<&port_info::link_speed_enabled>(),
                          before.get<&port_info::link_speed_supported>(), all_speeds))
      .set<&port_info::link_speed_ext_enabled>(
          enabled_becomes(wanted.get<&port_info::link_speed_ext_enabled>(),
                          before.get<&port_info::link_speed_ext_enabled>(),
                          before.get<&port_info::link_speed_ext_supported>(), all_extended_speeds));
  if (wanted.get<&port_info::link_down_default>() != no_change)
    i.set<&port_info::link_down_default>(wanted.get<&port_info::link_down_default>());
  if (wanted.get<&port_info::operational_vls>() != vl_code::no_change)
    i.set<&port_info::operational_vls>(wanted.get<&port_info::operational_vls>());

  shown = {.hide_mkey = false, .reregister = wanted.get<&port_info::client_reregister>()};
  if (listener_ != nullptr) {
    listener_->port_info_set(before, shown.reregister);
    listener_->state_wanted(wanted.get<&port_info::state>(),
                            wanted.get<&port_info::physical_state>());
  }
  return mad_status::success;
}

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// PortInfo: which values a port takes (IBTA vol. 1, 14.2.5.6), and what of it follows the link.
#pragma once

#include <cstdint>
#include <iterator>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::packets {

inline constexpr std::uint64_t no_change = 0, polling_by_default = 2;
inline constexpr std::uint64_t all_widths = 0xff, all_speeds = 0xf, all_extended_speeds = 0x1f;
/// IBTA 1.3 table 155: 30 disables extended speeds.
inline constexpr std::uint64_t extended_speeds_off = 30;

constexpr bool is_unicast(std::uint64_t lid) {
  return lid != 0 && lid < layouts::first_multicast_lid;
}
constexpr bool is_multicast(std::uint64_t lid) {
  return lid >= layouts::first_multicast_lid && lid != layouts::permissive_lid;
}

/// "enabled" widths and speeds: no change, everything supported, or a part of what is supported.
constexpr bool enabled_valid(std::uint64_t enabled, std::uint64_t supported,
                             std::uint64_t everything) {
  return enabled == everything || (enabled & ~supported) == 0;
}
constexpr std::uint64_t enabled_becomes(std::uint64_t enabled, std::uint64_t before,
                                        std::uint64_t supported, std::uint64_t everything) {
  return enabled == no_change ? before : enabled == everything ? supported : enabled;
}

constexpr bool state_reachable(layouts::port_state from, layouts::port_state to) {
  using layouts::port_state;
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

/// Lanes for data that the code stands for, from lane 0 on.
constexpr unsigned data_lanes(layouts::vl_code code) {
  constexpr unsigned lanes[] = {1, 1, 2, 4, 8, 15};
  const auto c = static_cast<unsigned>(code);
  return c < std::size(lanes) ? lanes[c] : 1;
}

/// What of a Set(PortInfo) a link asks for, whoever has it: widths, speeds, states, MTU, lanes.
inline bool link_fields_valid(const layouts::image<layouts::port_info>& now,
                              const layouts::image<layouts::port_info>& wanted) {
  using layouts::port_info;
  const auto mtu = static_cast<unsigned>(wanted.get<&port_info::neighbor_mtu>());
  const auto extended = wanted.get<&port_info::link_speed_ext_enabled>();
  return enabled_valid(wanted.get<&port_info::link_width_enabled>(),
                       now.get<&port_info::link_width_supported>(), all_widths) &&
         enabled_valid(wanted.get<&port_info::link_speed_enabled>(),
                       now.get<&port_info::link_speed_supported>(), all_speeds) &&
         (extended == extended_speeds_off ||
          enabled_valid(extended, now.get<&port_info::link_speed_ext_supported>(),
                        all_extended_speeds)) &&
         state_reachable(now.get<&port_info::state>(), wanted.get<&port_info::state>()) &&
         wanted.get<&port_info::physical_state>() <= layouts::port_physical_state::disabled &&
         wanted.get<&port_info::link_down_default>() <= polling_by_default && mtu >= 1 &&
         mtu <= static_cast<unsigned>(now.get<&port_info::mtu_cap>()) &&
         wanted.get<&port_info::operational_vls>() <= now.get<&port_info::vl_cap>();
}

/// Takes those fields over, but for the states.
inline void set_link_fields(layouts::image<layouts::port_info>& i,
                            const layouts::image<layouts::port_info>& wanted) {
  using layouts::port_info;
  using layouts::vl_code;
  i.set<&port_info::neighbor_mtu>(wanted.get<&port_info::neighbor_mtu>())
      .set<&port_info::vl_high_limit>(wanted.get<&port_info::vl_high_limit>())
      .set<&port_info::local_phy_errors>(wanted.get<&port_info::local_phy_errors>())
      .set<&port_info::overrun_errors>(wanted.get<&port_info::overrun_errors>())
      .set<&port_info::link_width_enabled>(enabled_becomes(
          wanted.get<&port_info::link_width_enabled>(), i.get<&port_info::link_width_enabled>(),
          i.get<&port_info::link_width_supported>(), all_widths))
      .set<&port_info::link_speed_enabled>(enabled_becomes(
          wanted.get<&port_info::link_speed_enabled>(), i.get<&port_info::link_speed_enabled>(),
          i.get<&port_info::link_speed_supported>(), all_speeds))
      .set<&port_info::link_speed_ext_enabled>(
          enabled_becomes(wanted.get<&port_info::link_speed_ext_enabled>(),
                          i.get<&port_info::link_speed_ext_enabled>(),
                          i.get<&port_info::link_speed_ext_supported>(), all_extended_speeds));
  if (wanted.get<&port_info::link_down_default>() != no_change)
    i.set<&port_info::link_down_default>(wanted.get<&port_info::link_down_default>());
  if (wanted.get<&port_info::operational_vls>() != vl_code::no_change)
    i.set<&port_info::operational_vls>(wanted.get<&port_info::operational_vls>());
}

constexpr layouts::link_width widest_enabled(const layouts::image<layouts::port_info>& i) {
  using namespace layouts;
  const auto widths =
      i.get<&port_info::link_width_supported>() & i.get<&port_info::link_width_enabled>();
  return (widths & static_cast<unsigned>(link_width::x4)) != 0 ? link_width::x4 : link_width::x1;
}

/// The link has trained: LinkUp, Initialize, at the best of what is enabled.
inline void come_up(layouts::image<layouts::port_info>& i) {
  using namespace layouts;
  constexpr auto qdr_bit = static_cast<unsigned>(link_speed::qdr),
                 ddr_bit = static_cast<unsigned>(link_speed::ddr);
  const auto speeds =
      i.get<&port_info::link_speed_supported>() & i.get<&port_info::link_speed_enabled>();
  const link_speed speed = (speeds & qdr_bit) != 0   ? link_speed::qdr
                           : (speeds & ddr_bit) != 0 ? link_speed::ddr
                                                     : link_speed::sdr;
  const bool fdr =
      speed == link_speed::qdr && (i.get<&port_info::link_speed_ext_supported>() &
                                   i.get<&port_info::link_speed_ext_enabled>() & 1) != 0;
  i.set<&port_info::physical_state>(port_physical_state::link_up)
      .set<&port_info::state>(port_state::initialize)
      .set<&port_info::link_width_active>(widest_enabled(i))
      .set<&port_info::link_speed_active>(speed)
      .set<&port_info::link_speed_ext_active>(fdr ? link_speed_ext::fdr : link_speed_ext::none);
}

/// The link is lost. The LIDs stay, and the width is the widest that is enabled: captures (with
/// both enabled 4X, with 1X alone the rate of 1X).
inline void go_down(layouts::image<layouts::port_info>& i, layouts::port_physical_state next) {
  using namespace layouts;
  i.set<&port_info::link_width_active>(widest_enabled(i))
      .set<&port_info::physical_state>(next)
      .set<&port_info::state>(port_state::down)
      .set<&port_info::link_speed_active>(link_speed::sdr)
      .set<&port_info::link_speed_ext_active>(link_speed_ext::none);
}

}  // namespace freehca::packets

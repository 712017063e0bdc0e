// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/model/capability.hpp>
#include <freehca/model/options.hpp>

#include "basis/identity.hpp"

namespace freehca::model {

/// Is the port one of Ethernet, or can SET_PORT make it one?
constexpr bool may_be_ethernet(const options& how, unsigned port) {
  return port >= 1 && port <= how.ports && port <= 2 &&
         (how.link[port - 1] == link_layer::ethernet || how.vpi[port - 1]);
}

constexpr bool has_ethernet_port(const options& how) {
  return may_be_ethernet(how, 1) || may_be_ethernet(how, 2);
}

constexpr bool has_vpi_port(const options& how) {
  return how.vpi[0] || (how.ports == 2 && how.vpi[1]);
}

/// Has the adapter this capability? Whatever depends on one asks here: what is reported, and what
/// is refused.
constexpr bool offers(const options& how, capability c) {
  if (how.without.has(c) || (off_unless_asked(c) && !how.with.has(c))) return false;
  const bool ethernet = has_ethernet_port(how);
  const identity& who = identity_of(how.kind);
  switch (c) {
    case capability::large_entries:
      return who.large_entries;
    case capability::clock:
      return who.clock_mhz != 0;
    case capability::device_managed_steering:
      return who.device_managed_steering;
    case capability::memory_windows:
      return how.kind != variant::connectx2;  // captures
    case capability::ipoib_steering:
      return offers(how, capability::device_managed_steering);
    case capability::two_link_layers:
      // Without it Linux senses no port (sense.c mlx4_start_sense).
      return ethernet && (how.ports == 2 || has_vpi_port(how));
    case capability::port_sensing:
      return has_vpi_port(how);
    case capability::default_sense:
      return offers(how, capability::port_sensing);
    case capability::receive_side_scaling:
    case capability::interface_counters:
    case capability::keeps_fcs:
    case capability::unicast_loopback:
    case capability::wake_on_lan:
    case capability::roce:
      return ethernet;
    // Of the third generation. Link modes: captures (a ConnectX-2 prints 10000baseT, what Linux
    // says without them); the others: no source, chosen.
    case capability::ignores_fcs:
    case capability::loopback_source_check:
    case capability::device_configuration:
    case capability::link_modes:
    case capability::port_beacon:
    case capability::traffic_classes:
    case capability::congestion_notification:
      return ethernet && how.kind != variant::connectx2;
    // What the ConnectX-3 Pro has beyond the ConnectX-3, by its data sheets.
    case capability::vxlan:
      return ethernet && how.kind == variant::connectx3_pro &&
             offers(how, capability::device_configuration) &&
             offers(how, capability::device_managed_steering);
    case capability::roce_v2:
      return offers(how, capability::roce) && how.kind == variant::connectx3_pro &&
             offers(how, capability::device_configuration);
    // Linux switches the check of ports off by CONFIG_DEV before it maps any (mlx4/intf.c
    // mlx4_do_bond).
    case capability::port_remap:
      return ethernet && how.ports == 2 && offers(how, capability::device_configuration);
    default:
      return true;
  }
}

/// Does DIAG_RPRT count by port? No capture tells (QUERY_DEV_CAP, diag_per_port): chosen, that the
/// firmware of the third generation does.
constexpr bool counts_by_port(variant v) {
  return v != variant::connectx2;
}

}  // namespace freehca::model

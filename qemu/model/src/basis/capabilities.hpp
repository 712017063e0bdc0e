// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/model/capability.hpp>
#include <freehca/model/options.hpp>

#include "basis/identity.hpp"

namespace freehca::model {

constexpr bool has_ethernet_port(const options& how) {
  for (unsigned i = 0; i < how.ports && i < 2; ++i)
    if (how.link[i] == link_layer::ethernet) return true;
  return false;
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
      return ethernet && how.ports == 2;
    case capability::large_send:
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
      return ethernet && how.kind != variant::connectx2;
    // What the ConnectX-3 Pro has beyond the ConnectX-3, by its data sheets.
    case capability::vxlan:
      return ethernet && how.kind == variant::connectx3_pro &&
             offers(how, capability::device_configuration) &&
             offers(how, capability::device_managed_steering);
    case capability::roce_v2:
      return offers(how, capability::roce) && how.kind == variant::connectx3_pro &&
             offers(how, capability::device_configuration);
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

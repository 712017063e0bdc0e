// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands of Ethernet ports and of ports that can be Ethernet ports, except SET_PORT
// (port.hpp).
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/ethernet_statistics.hpp>
#include <freehca/layouts/query_port.hpp>

namespace freehca::commands {

/// Sets the VLANs whose frames pass. The mailbox has layouts::vlan_filter_words words.
using set_vlan_fltr =
    family<opcode::set_vlan_fltr, layouts::vlan_filter_word, nothing, object_kind::port, exclusive>;

/// Sets the groups whose frames pass (`config`: the immediate input is an image of
/// layouts::multicast_filter), or switches this filter off or on.
template <layouts::set_mcast_fltr_modifier What>
using set_mcast_fltr = family<opcode::set_mcast_fltr, immediate, nothing, object_kind::port,
                              traits_of(What, exclusive)>;

/// Reads the counters of a port, and sets them to 0 if `reset` is true. Ports count from 1.
struct dump_eth_stats
    : family<opcode::dump_eth_stats, nothing, layouts::ethernet_statistics, object_kind::port> {
  static void aim(command_request& r, std::uint32_t port, bool reset) {
    using l = layouts::dump_eth_stats_modifier;
    family::aim(r, port);
    r.input_modifier = layouts::load_be<std::uint32_t>(
        layouts::image<l>().set<&l::port>(port).set<&l::reset>(reset).data());
  }
};

/// Reads a counter that queue pairs name by its index, and sets it to 0 if `reset` is true.
struct query_if_stat : family<opcode::query_if_stat, nothing, layouts::interface_counter> {
  static void aim(command_request& r, std::uint32_t index, bool reset) {
    using l = layouts::query_if_stat_modifier;
    family::aim(r);
    r.input_modifier = layouts::load_be<std::uint32_t>(
        layouts::image<l>().set<&l::index>(index).set<&l::reset>(reset).data());
  }
};

/// Detects the link layer of the cable. The immediate output is an image of layouts::sense_port.
using sense_port = family<opcode::sense_port, nothing, immediate, object_kind::port,
                          command_traits{.patience = patience::lengthy}>;

}  // namespace freehca::commands

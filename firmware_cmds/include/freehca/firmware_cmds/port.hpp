// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_port.hpp>

namespace freehca::commands {

/// Brings the physical layer of a port up. Ports count from 1.
using init_port = family<opcode::init_port, nothing, nothing, object_kind::port, exclusive>;

/// Takes the physical layer of a port down.
using close_port =
    family<opcode::close_port, nothing, nothing, object_kind::port, exclusive_teardown>;

/// Sets the limits and capabilities of an InfiniBand port before INIT_PORT. Sets the capability
/// mask of the port at any time.
using set_port_ib = family<opcode::set_port, layouts::set_port_ib, nothing, object_kind::port,
                           traits_of(layouts::set_port_modifier::ib, exclusive)>;

/// Changes one of the settings of an Ethernet port. Layout is the layout that `Selector` requires.
template <class Layout, layouts::set_port_selector Selector>
struct set_port_ethernet : family<opcode::set_port, Layout, nothing, object_kind::port,
                                  traits_of(layouts::set_port_modifier::ethernet, exclusive)> {
  static void aim(command_request& r, std::uint32_t port) {
    set_port_ethernet::family::aim(r, port);
    r.input_modifier = layouts::set_port_input_modifier(Selector, port);
  }
};

/// Changes settings of the device, each by a bit of its own (u_*). They apply to all ports.
using set_config_dev = family<opcode::config_dev, layouts::config_dev, nothing, object_kind::none,
                              traits_of(layouts::config_dev_modifier::set, exclusive)>;

}  // namespace freehca::commands

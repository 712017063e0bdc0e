// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_port.hpp>

namespace freehca::commands {

/// Brings the physical layer of a port up. Ports count from 1.
struct init_port {
  static constexpr auto code = layouts::opcode::init_port;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t port) {
    r.input_modifier = port;
    r.key = {object_kind::port, port};
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

/// Takes the physical layer of a port down.
struct close_port {
  static constexpr auto code = layouts::opcode::close_port;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t port) {
    r.input_modifier = port;
    r.key = {object_kind::port, port};
    r.lane = lane::teardown;
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

/// Sets the limits and capabilities of an InfiniBand port before INIT_PORT. Sets the capability
/// mask of the port at any time.
struct set_port_ib {
  static constexpr auto code = layouts::opcode::set_port;
  using input = layouts::set_port_ib;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t port) {
    r.input_modifier = port;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::set_port_modifier::ib);
    r.key = {object_kind::port, port};
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

/// Changes one of the settings of an Ethernet port. Layout is the layout that `Selector` requires.
template <class Layout, layouts::set_port_selector Selector>
struct set_port_ethernet {
  static constexpr auto code = layouts::opcode::set_port;
  using input = Layout;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t port) {
    r.input_modifier = layouts::set_port_input_modifier(Selector, port);
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::set_port_modifier::ethernet);
    r.key = {object_kind::port, port};
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

/// Detects the link layer of the cable. The immediate output is an image of layouts::sense_port.
struct sense_port {
  static constexpr auto code = layouts::opcode::sense_port;
  using input = nothing;
  using output = immediate;
  static void aim(command_request& r, std::uint32_t port) {
    r.input_modifier = port;
    r.key = {object_kind::port, port};
    r.patience = patience::lengthy;
  }
};

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/port.hpp>
#include <freehca/layouts/ethernet.hpp>

namespace freehca {

/// The parameters of SET_PORT for an Ethernet port: the largest frame, and pause of both directions
/// (Linux 6.1 port.c mlx4_SET_PORT_general).
struct ethernet_limits {
  /// What a frame has beside IP: addresses, type, two VLAN tags, and the FCS (Linux 6.1 mlx4_en.h
  /// MLX4_EN_EFF_MTU, en_netdev.c mlx4_en_start_port).
  static constexpr unsigned bytes_beside_ip = layouts::ethernet_addresses::bytes +
                                              layouts::ether_type_bytes +
                                              2 * layouts::vlan_tag::bytes + 4;

  /// `input` holds the mailbox until the command is done.
  static void fill(command_request& r, layouts::image<layouts::set_port_general>& input,
                   unsigned port, unsigned mtu, bool sends_pause, bool obeys_pause) {
    using l = layouts::set_port_general;
    using set = commands::set_port_ethernet<l, layouts::set_port_selector::general>;
    input = {};
    input.set<&l::v_mtu>(true)
        .set<&l::mtu>(mtu + bytes_beside_ip)
        .set<&l::v_pptx>(true)
        .set<&l::pptx>(sends_pause)
        .set<&l::v_pprx>(true)
        .set<&l::pprx>(obeys_pause);
    r.opcode = set::code;
    set::aim(r, port);
    r.input = command_request::form::mailbox;
    r.input_data = input.data();
    r.input_bytes = l::bytes;
  }
};

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/port.hpp>
#include <freehca/layouts/ethernet.hpp>

namespace freehca {

/// The parameters of SET_PORT for an Ethernet port: the largest frame, and pause of both ways.
/// Priorities with pause exclude global pause (Linux 6.1 port.c mlx4_SET_PORT_general).
struct ethernet_limits {
  /// What a frame has beside IP: addresses, type, two VLAN tags, and the FCS (Linux 6.1 mlx4_en.h
  /// MLX4_EN_EFF_MTU, en_netdev.c mlx4_en_start_port).
  static constexpr unsigned bytes_beside_ip = layouts::ethernet_addresses::bytes +
                                              layouts::ether_type_bytes +
                                              2 * layouts::vlan_tag::bytes + 4;

  /// Returns the word of one direction.
  static std::uint32_t pause(bool global, std::uint8_t priorities) {
    using l = layouts::set_port_general;
    static_assert(l{}.pptx.hi == l{}.pprx.hi && l{}.pfctx.lo == l{}.pfcrx.lo);
    return priorities != 0 ? std::uint32_t{priorities} << l{}.pfctx.lo
                           : std::uint32_t{global} << l{}.pptx.hi;
  }
  /// `sends` and `obeys` are results of pause(). `input` holds the mailbox until the command is
  /// done.
  static void fill(command_request& r, layouts::image<layouts::set_port_general>& input,
                   unsigned port, unsigned mtu, std::uint32_t sends, std::uint32_t obeys);
};

}  // namespace freehca

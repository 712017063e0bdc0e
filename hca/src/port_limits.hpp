// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/port.hpp>

#include <freehca/hca/device.hpp>

namespace freehca {

/// The parameters of SET_PORT for an InfiniBand port before INIT_PORT: the capability mask that the
/// port has (every SET_PORT replaces it), the largest MTU, and as many virtual lanes as the
/// firmware accepts (Linux 6.1 port.c mlx4_SET_PORT).
struct port_limits {
  static constexpr unsigned tries = 4;  // 8, 4, 2, 1 virtual lanes

  static void fill(firmware_command<commands::set_port_ib>& c, const device& d, unsigned port,
                   unsigned attempt) {
    using l = layouts::set_port_ib;
    c.input.set<&l::capability_mask>(d.port(port).capability_mask)
        .set<&l::mmc>(true)
        .set<&l::mtu_cap>(d.capabilities().raw_port[port - 1].get<&layouts::query_port::ib_mtu>())
        .set<&l::mvc>(true)
        .set<&l::vl_cap>(8u >> attempt);
  }
  /// True if the next attempt, with fewer virtual lanes, may succeed.
  static bool too_many_lanes(status s, unsigned attempt) {
    return attempt + 1 < tries && (s.is(layouts::command_status::bad_size) ||
                                   s.is(layouts::command_status::exceeds_limits));
  }
};

}  // namespace freehca

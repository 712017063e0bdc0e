// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_port.hpp>

namespace freehca::commands {

/// Reads the capabilities of the device, and the resources that it reserves for itself.
struct query_dev_cap {
  static constexpr auto code = layouts::opcode::query_dev_cap;
  using input = nothing;
  using output = layouts::query_dev_cap;
  static void aim(command_request&) {}
};

/// Reads the interrupt pin and the name of the board.
struct query_adapter {
  static constexpr auto code = layouts::opcode::query_adapter;
  using input = nothing;
  using output = layouts::query_adapter;
  static void aim(command_request&) {}
};

/// Reads the parameters that the device took from INIT_HCA.
struct query_hca {
  static constexpr auto code = layouts::opcode::query_hca;
  using input = nothing;
  using output = layouts::init_hca;
  static void aim(command_request&) {}
};

/// Reads the capabilities and the link layer of a port. Ports count from 1.
struct query_port {
  static constexpr auto code = layouts::opcode::query_port;
  using input = nothing;
  using output = layouts::query_port;
  static void aim(command_request& r, std::uint32_t port) {
    r.input_modifier = port;
    r.key = {object_kind::port, port};
  }
};

}  // namespace freehca::commands

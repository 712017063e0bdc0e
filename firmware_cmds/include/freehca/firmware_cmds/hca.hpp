// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/init_hca.hpp>

namespace freehca::commands {

/// Initialises the device with its tables in context memory.
struct init_hca {
  static constexpr auto code = layouts::opcode::init_hca;
  using input = layouts::init_hca;
  using output = nothing;
  static void aim(command_request& r) {
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

/// Undoes INIT_HCA: the device forgets all objects. Context memory stays lent.
struct close_hca {
  static constexpr auto code = layouts::opcode::close_hca;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r) {
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::close_hca_modifier::normal);
    r.lane = lane::teardown;
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>

namespace freehca::commands {

/// Does nothing. The driver sends it to test whether answers arrive (the self-test of the
/// completion event's interrupt).
struct nop {
  static constexpr auto code = layouts::opcode::nop;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r) {
    r.input_modifier = layouts::nop_at_once;
    r.lane = lane::management;
    r.patience = patience::probe;
  }
};

}  // namespace freehca::commands

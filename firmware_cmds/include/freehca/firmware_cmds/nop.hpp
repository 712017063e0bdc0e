// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>

namespace freehca::commands {

/// Does nothing. The driver sends it to test whether answers arrive (the self-test of the
/// completion event's interrupt).
struct nop : family<opcode::nop, nothing, nothing, object_kind::none,
                    command_traits{.lane = lane::management, .patience = patience::probe}> {
  static void aim(command_request& r) {
    family::aim(r);
    r.input_modifier = layouts::nop_at_once;
  }
};

}  // namespace freehca::commands

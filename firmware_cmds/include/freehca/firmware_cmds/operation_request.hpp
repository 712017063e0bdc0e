// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/config_dev.hpp>

namespace freehca::commands {

/// Asks which operation the firmware requires after an operation_required event, or reports how the
/// operation ended. `result` is then its token, in the upper 16 bits, and 0 or a Linux errno. Only
/// the question has an output.
struct get_op_req : family<opcode::get_op_req, nothing, layouts::get_op_req_group> {
  static void aim(command_request& r, layouts::get_op_req_modifier how, std::uint32_t result) {
    r.opcode_modifier = static_cast<std::uint8_t>(how);
    r.input_modifier = result;
    r.output = how == layouts::get_op_req_modifier::get ? command_request::form::mailbox
                                                        : command_request::form::none;
  }
};

}  // namespace freehca::commands

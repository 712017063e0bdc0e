// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/qpc.hpp>

namespace freehca::commands {

/// A transition of a queue pair. The mailbox has a mask and a context.
template <opcode Transition>
using modify_qp = family<Transition, layouts::qp_mailbox, nothing, object_kind::qp>;

/// Any of these transitions, chosen at run time.
struct any_qp_transition : modify_qp<opcode::rst2init_qp> {
  static void aim(command_request& r, opcode transition, std::uint32_t qpn) {
    family::aim(r, qpn);
    r.opcode = transition;
  }
};

/// Moves a queue pair to the error state. Posted work requests complete with a flush error.
using to_err_qp = family<opcode::to_err_qp, nothing, nothing, object_kind::qp, teardown>;

/// Moves a queue pair to the reset state. Software then owns the queue pair.
using to_rst_qp = family<opcode::to_rst_qp, nothing, nothing, object_kind::qp,
                         traits_of(layouts::to_rst_qp_modifier::no_output, teardown)>;

/// Reads the context of a queue pair from the device.
using query_qp = family<opcode::query_qp, nothing, layouts::qp_mailbox, object_kind::qp>;

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/qpc.hpp>

namespace freehca::commands {

/// A transition of a queue pair. The mailbox has a mask and a context.
template <layouts::opcode Transition>
struct modify_qp {
  static constexpr auto code = Transition;
  using input = layouts::qp_mailbox;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t qpn) {
    r.input_modifier = qpn;
    r.key = {object_kind::qp, qpn};
  }
};
using rst2init_qp = modify_qp<layouts::opcode::rst2init_qp>;
using init2init_qp = modify_qp<layouts::opcode::init2init_qp>;
using init2rtr_qp = modify_qp<layouts::opcode::init2rtr_qp>;
using rtr2rts_qp = modify_qp<layouts::opcode::rtr2rts_qp>;
using rts2rts_qp = modify_qp<layouts::opcode::rts2rts_qp>;
using sqerr2rts_qp = modify_qp<layouts::opcode::sqerr2rts_qp>;
using rts2sqd_qp = modify_qp<layouts::opcode::rts2sqd_qp>;
using sqd2sqd_qp = modify_qp<layouts::opcode::sqd2sqd_qp>;
using sqd2rts_qp = modify_qp<layouts::opcode::sqd2rts_qp>;

/// Any of the transitions above, chosen at run time.
struct any_qp_transition {
  static constexpr auto code = layouts::opcode::rst2init_qp;
  using input = layouts::qp_mailbox;
  using output = nothing;
  static void aim(command_request& r, layouts::opcode transition, std::uint32_t qpn) {
    r.opcode = transition;
    r.input_modifier = qpn;
    r.key = {object_kind::qp, qpn};
  }
};

/// Moves a queue pair to the error state. Posted work requests complete with a flush error.
struct to_err_qp {
  static constexpr auto code = layouts::opcode::to_err_qp;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t qpn) {
    r.input_modifier = qpn;
    r.key = {object_kind::qp, qpn};
    r.lane = lane::teardown;
  }
};

/// Moves a queue pair to the reset state. Software then owns the queue pair.
struct to_rst_qp {
  static constexpr auto code = layouts::opcode::to_rst_qp;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t qpn) {
    r.input_modifier = qpn;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::to_rst_qp_modifier::no_output);
    r.key = {object_kind::qp, qpn};
    r.lane = lane::teardown;
  }
};

/// Reads the context of a queue pair from the device.
struct query_qp {
  static constexpr auto code = layouts::opcode::query_qp;
  using input = nothing;
  using output = layouts::qp_mailbox;
  static void aim(command_request& r, std::uint32_t qpn) {
    r.input_modifier = qpn;
    r.key = {object_kind::qp, qpn};
  }
};

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/flow_rule.hpp>

namespace freehca::commands {

/// Adds a rule of device-managed steering. The mailbox has a layouts::flow_rule_control, and behind
/// it the headers of the rule. The input modifier is the number of 32-bit words of all of them. The
/// immediate output is the number of the rule.
using qp_flow_steering_attach =
    family<opcode::qp_flow_steering_attach, layouts::flow_rule_control, immediate>;

/// Removes a rule. The immediate input is its number.
struct qp_flow_steering_detach
    : family<opcode::qp_flow_steering_detach, immediate, nothing, object_kind::none, teardown> {
  static void aim(command_request& r, std::uint64_t rule) {
    family::aim(r);
    r.input = command_request::form::immediate;
    r.input_immediate = rule;
  }
};

}  // namespace freehca::commands

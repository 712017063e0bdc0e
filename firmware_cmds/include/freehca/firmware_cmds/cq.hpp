// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/cqc.hpp>

namespace freehca::commands {

/// Creates a completion queue whose entries the device initialises.
using sw2hw_cq = family<opcode::sw2hw_cq, layouts::cqc, nothing, object_kind::cq,
                        traits_of(layouts::sw2hw_cq_modifier::hardware_initializes)>;

/// Destroys a completion queue.
using hw2sw_cq = family<opcode::hw2sw_cq, nothing, nothing, object_kind::cq, destruction>;

/// Resizes a completion queue, or changes its moderation.
struct modify_cq : family<opcode::modify_cq, layouts::cqc, nothing, object_kind::cq> {
  static void aim(command_request& r, std::uint32_t cqn, layouts::modify_cq_modifier what) {
    family::aim(r, cqn);
    r.opcode_modifier = static_cast<std::uint8_t>(what);
  }
};

}  // namespace freehca::commands

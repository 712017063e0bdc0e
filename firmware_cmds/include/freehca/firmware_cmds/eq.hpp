// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/eqc.hpp>

namespace freehca::commands {

/// Creates an event queue.
using sw2hw_eq = family<opcode::sw2hw_eq, layouts::eqc, nothing, object_kind::eq>;

/// Destroys an event queue.
using hw2sw_eq = family<opcode::hw2sw_eq, nothing, nothing, object_kind::eq, destruction>;

/// Sends the events of a mask (bit n: event type n) to an event queue. The targets are the number
/// of the event queue and the mask.
using map_eq = family<opcode::map_eq, immediate, nothing, object_kind::eq>;

/// Stops sending the events of `mask` to the event queue.
struct unmap_eq : family<opcode::map_eq, immediate, nothing, object_kind::eq, teardown> {
  static void aim(command_request& r, std::uint32_t eqn, std::uint64_t mask) {
    family::aim(r, eqn, mask);
    r.input_modifier |= layouts::map_eq_unmap;
  }
};

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/eqc.hpp>

namespace freehca::commands {

/// Creates an event queue.
struct sw2hw_eq {
  static constexpr auto code = layouts::opcode::sw2hw_eq;
  using input = layouts::eqc;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t eqn) {
    r.input_modifier = eqn;
    r.key = {object_kind::eq, eqn};
  }
};

/// Destroys an event queue.
struct hw2sw_eq {
  static constexpr auto code = layouts::opcode::hw2sw_eq;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t eqn) {
    r.input_modifier = eqn;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::hw2sw_modifier::no_output);
    r.key = {object_kind::eq, eqn};
    r.lane = lane::teardown;
  }
};

/// Reads the context of an event queue from the device.
struct query_eq {
  static constexpr auto code = layouts::opcode::query_eq;
  using input = nothing;
  using output = layouts::eqc;
  static void aim(command_request& r, std::uint32_t eqn) {
    r.input_modifier = eqn;
    r.key = {object_kind::eq, eqn};
  }
};

/// Sends the events of `mask` (bit n: event type n) to an event queue.
struct map_eq {
  static constexpr auto code = layouts::opcode::map_eq;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t eqn, std::uint64_t mask) {
    r.input_modifier = eqn;
    r.input = command_request::form::immediate;
    r.input_immediate = mask;
    r.key = {object_kind::eq, eqn};
  }
};

/// Stops sending the events of `mask` to the event queue.
struct unmap_eq {
  static constexpr auto code = layouts::opcode::map_eq;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t eqn, std::uint64_t mask) {
    r.input_modifier = layouts::map_eq_unmap | eqn;
    r.input = command_request::form::immediate;
    r.input_immediate = mask;
    r.key = {object_kind::eq, eqn};
    r.lane = lane::teardown;
  }
};

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/cqc.hpp>

namespace freehca::commands {

/// Creates a completion queue whose entries the device initialises.
struct sw2hw_cq {
  static constexpr auto code = layouts::opcode::sw2hw_cq;
  using input = layouts::cqc;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t cqn) {
    r.input_modifier = cqn;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::sw2hw_cq_modifier::hardware_initializes);
    r.key = {object_kind::cq, cqn};
  }
};

/// Destroys a completion queue.
struct hw2sw_cq {
  static constexpr auto code = layouts::opcode::hw2sw_cq;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t cqn) {
    r.input_modifier = cqn;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::hw2sw_modifier::no_output);
    r.key = {object_kind::cq, cqn};
    r.lane = lane::teardown;
  }
};

/// Reads the context of a completion queue from the device.
struct query_cq {
  static constexpr auto code = layouts::opcode::query_cq;
  using input = nothing;
  using output = layouts::cqc;
  static void aim(command_request& r, std::uint32_t cqn) {
    r.input_modifier = cqn;
    r.key = {object_kind::cq, cqn};
  }
};

/// Resizes a completion queue, or changes its moderation.
struct modify_cq {
  static constexpr auto code = layouts::opcode::modify_cq;
  using input = layouts::cqc;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t cqn, layouts::modify_cq_modifier what) {
    r.input_modifier = cqn;
    r.opcode_modifier = static_cast<std::uint8_t>(what);
    r.key = {object_kind::cq, cqn};
  }
};

}  // namespace freehca::commands

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/srqc.hpp>

namespace freehca::commands {

/// Creates a shared receive queue.
struct sw2hw_srq {
  static constexpr auto code = layouts::opcode::sw2hw_srq;
  using input = layouts::srqc;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t srqn) {
    r.input_modifier = srqn;
    r.key = {object_kind::srq, srqn};
  }
};

/// Destroys a shared receive queue.
struct hw2sw_srq {
  static constexpr auto code = layouts::opcode::hw2sw_srq;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t srqn) {
    r.input_modifier = srqn;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::hw2sw_modifier::no_output);
    r.key = {object_kind::srq, srqn};
    r.lane = lane::teardown;
  }
};

/// The context of a shared receive queue as the device has it.
struct query_srq {
  static constexpr auto code = layouts::opcode::query_srq;
  using input = nothing;
  using output = layouts::srqc;
  static void aim(command_request& r, std::uint32_t srqn) {
    r.input_modifier = srqn;
    r.key = {object_kind::srq, srqn};
  }
};

/// Asks for one limit event when fewer than `limit` entries are posted.
struct arm_srq {
  static constexpr auto code = layouts::opcode::arm_srq;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t srqn, std::uint32_t limit) {
    r.input_modifier = srqn;
    r.input = command_request::form::immediate;
    r.input_immediate = limit;
    r.key = {object_kind::srq, srqn};
  }
};

}  // namespace freehca::commands

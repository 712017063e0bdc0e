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

/// Reads the context of a shared receive queue from the device.
struct query_srq {
  static constexpr auto code = layouts::opcode::query_srq;
  using input = nothing;
  using output = layouts::srqc;
  static void aim(command_request& r, std::uint32_t srqn) {
    r.input_modifier = srqn;
    r.key = {object_kind::srq, srqn};
  }
};

/// Arms one limit event, which occurs when fewer than `limit` entries are posted.
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

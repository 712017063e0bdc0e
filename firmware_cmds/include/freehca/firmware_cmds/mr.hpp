// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>

namespace freehca::commands {

/// Hands a memory protection entry to the device: creates a region or a window.
struct sw2hw_mpt {
  static constexpr auto code = layouts::opcode::sw2hw_mpt;
  using input = layouts::mpt;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t index) {
    r.input_modifier = index;
    r.key = {object_kind::mpt, index};
  }
};

/// Takes a memory protection entry back; region_bound while windows stand on it.
struct hw2sw_mpt {
  static constexpr auto code = layouts::opcode::hw2sw_mpt;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t index) {
    r.input_modifier = index;
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::hw2sw_modifier::no_output);
    r.key = {object_kind::mpt, index};
    r.lane = lane::teardown;
  }
};

/// A memory protection entry as the device has it.
struct query_mpt {
  static constexpr auto code = layouts::opcode::query_mpt;
  using input = nothing;
  using output = layouts::mpt;
  static void aim(command_request& r, std::uint32_t index) {
    r.input_modifier = index;
    r.key = {object_kind::mpt, index};
  }
};

/// Writes translation entries; `header` says where they begin.
struct write_mtt {
  static constexpr auto code = layouts::opcode::write_mtt;
  using input = sequence<layouts::mtt, layouts::write_mtt_header>;
  using output = nothing;
  static void aim(command_request&) {}
};

/// Drops what the device has cached of protection and translation tables.
struct sync_tpt {
  static constexpr auto code = layouts::opcode::sync_tpt;
  using input = nothing;
  using output = nothing;
  static void aim(command_request&) {}
};

}  // namespace freehca::commands

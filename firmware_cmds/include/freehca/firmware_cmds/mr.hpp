// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>

namespace freehca::commands {

/// Gives a memory protection entry to the device, which creates a memory region or a memory window.
struct sw2hw_mpt {
  static constexpr auto code = layouts::opcode::sw2hw_mpt;
  using input = layouts::mpt;
  using output = nothing;
  static void aim(command_request& r, std::uint32_t index) {
    r.input_modifier = index;
    r.key = {object_kind::mpt, index};
  }
};

/// Takes a memory protection entry back. The firmware answers region_bound while memory windows are
/// bound to the region.
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

/// Reads a memory protection entry from the device.
struct query_mpt {
  static constexpr auto code = layouts::opcode::query_mpt;
  using input = nothing;
  using output = layouts::mpt;
  static void aim(command_request& r, std::uint32_t index) {
    r.input_modifier = index;
    r.key = {object_kind::mpt, index};
  }
};

/// Writes translation entries. `header` has the address of the first one.
struct write_mtt {
  static constexpr auto code = layouts::opcode::write_mtt;
  using input = sequence<layouts::mtt, layouts::write_mtt_header>;
  using output = nothing;
  static void aim(command_request&) {}
};

/// Makes the device drop its cached protection and translation entries.
struct sync_tpt {
  static constexpr auto code = layouts::opcode::sync_tpt;
  using input = nothing;
  using output = nothing;
  static void aim(command_request&) {}
};

}  // namespace freehca::commands

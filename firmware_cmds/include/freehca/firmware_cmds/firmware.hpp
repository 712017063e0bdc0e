// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/query_fw.hpp>

namespace freehca::commands {

/// Reads the properties of the firmware: the number of pages for MAP_FA, the number of commands at
/// a time, the place of the error buffer.
struct query_fw {
  static constexpr auto code = layouts::opcode::query_fw;
  using input = nothing;
  using output = layouts::query_fw;
  static void aim(command_request&) {}
};

/// Lends pages for the firmware's own code and data. The driver repeats it until the firmware has
/// all pages that QUERY_FW asked for.
struct map_fa {
  static constexpr auto code = layouts::opcode::map_fa;
  using input = sequence<layouts::map_entry>;
  using output = nothing;
  static void aim(command_request&) {}
};

/// Takes the whole firmware area back. The driver sends it after it has taken back all other lent
/// memory.
struct unmap_fa {
  static constexpr auto code = layouts::opcode::unmap_fa;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r) { r.lane = lane::teardown; }
};

/// Starts the firmware from the area that MAP_FA lent.
struct run_fw {
  static constexpr auto code = layouts::opcode::run_fw;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r) {
    r.patience = patience::lengthy;
    r.barrier = true;
  }
};

/// Changes the configuration that the firmware keeps. It is sent before INIT_HCA. The flags *_m of
/// the layout select the fields to change.
struct mod_stat_cfg {
  static constexpr auto code = layouts::opcode::mod_stat_cfg;
  using input = layouts::mod_stat_cfg;
  using output = nothing;
  static void aim(command_request& r) {
    r.opcode_modifier = static_cast<std::uint8_t>(layouts::mod_stat_cfg_modifier::set);
  }
};

}  // namespace freehca::commands

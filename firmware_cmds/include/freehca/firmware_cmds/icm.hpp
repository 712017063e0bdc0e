// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/map.hpp>

namespace freehca::commands {

/// Tells the firmware the size of context memory in bytes. The output is the number of 4 KB pages
/// of auxiliary memory that the firmware needs for this size.
struct set_icm_size {
  static constexpr auto code = layouts::opcode::set_icm_size;
  using input = immediate;
  using output = immediate;
  static void aim(command_request&) {}
};

/// Lends the auxiliary memory. `va` of the entries is not used.
struct map_icm_aux {
  static constexpr auto code = layouts::opcode::map_icm_aux;
  using input = sequence<layouts::map_entry>;
  using output = nothing;
  static void aim(command_request&) {}
};

/// Takes the auxiliary memory back. The driver sends it after it has taken back all context memory.
struct unmap_icm_aux {
  static constexpr auto code = layouts::opcode::unmap_icm_aux;
  using input = nothing;
  using output = nothing;
  static void aim(command_request& r) { r.lane = lane::teardown; }
};

/// Lends blocks of pages for parts of context memory: up to input::most blocks, of different sizes.
struct map_icm {
  static constexpr auto code = layouts::opcode::map_icm;
  using input = sequence<layouts::map_entry>;
  using output = nothing;
  static void aim(command_request&) {}
};

/// Takes back `pages` pages of 4 KB from context memory address `va` on.
struct unmap_icm {
  static constexpr auto code = layouts::opcode::unmap_icm;
  using input = immediate;
  using output = nothing;
  static void aim(command_request& r, std::uint64_t va, std::uint32_t pages) {
    r.input_immediate = va;
    r.input_modifier = pages;
    r.lane = lane::teardown;
  }
};

}  // namespace freehca::commands

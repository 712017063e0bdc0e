// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/map.hpp>

namespace freehca::commands {

/// Tells the firmware the size of context memory in bytes. The output is the number of 4 KB pages
/// of auxiliary memory that the firmware needs for this size.
using set_icm_size = family<opcode::set_icm_size, immediate, immediate>;

/// Lends blocks of pages for parts of context memory: up to input::most blocks, of different sizes.
using map_icm = family<opcode::map_icm, sequence<layouts::map_entry>, nothing>;

/// Takes back `pages` pages of 4 KB from context memory address `va` on.
struct unmap_icm : family<opcode::unmap_icm, immediate, nothing, object_kind::none, teardown> {
  static void aim(command_request& r, std::uint64_t va, std::uint32_t pages) {
    family::aim(r);
    r.input_immediate = va;
    r.input_modifier = pages;
  }
};

}  // namespace freehca::commands

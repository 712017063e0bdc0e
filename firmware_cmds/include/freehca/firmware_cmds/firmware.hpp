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
using query_fw = family<opcode::query_fw, nothing, layouts::query_fw>;

/// Lends pages for the firmware's own code and data. The driver repeats it until the firmware has
/// all pages that QUERY_FW asked for.
using map_fa = family<opcode::map_fa, sequence<layouts::map_entry>, nothing>;

/// Takes the whole firmware area back. The driver sends it after it has taken back all other lent
/// memory.
using unmap_fa = family<opcode::unmap_fa, nothing, nothing, object_kind::none, teardown>;

/// Starts the firmware from the area that MAP_FA lent.
using run_fw = family<opcode::run_fw, nothing, nothing, object_kind::none, exclusive>;

/// Changes the configuration that the firmware keeps. It is sent before INIT_HCA. The flags *_m of
/// the layout select the fields to change.
using mod_stat_cfg = family<opcode::mod_stat_cfg, layouts::mod_stat_cfg, nothing, object_kind::none,
                            traits_of(layouts::mod_stat_cfg_modifier::set)>;

}  // namespace freehca::commands

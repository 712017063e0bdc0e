// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/mpt.hpp>

namespace freehca::commands {

/// Gives a memory protection entry to the device, which creates a memory region or a memory window.
using sw2hw_mpt = family<opcode::sw2hw_mpt, layouts::mpt, nothing, object_kind::mpt>;

/// Takes a memory protection entry back. The firmware answers region_bound while memory windows are
/// bound to the region.
using hw2sw_mpt = family<opcode::hw2sw_mpt, nothing, nothing, object_kind::mpt, destruction>;

/// The same, and returns the entry. The entry can be given to the device again.
using hw2sw_mpt_read = family<opcode::hw2sw_mpt, nothing, layouts::mpt, object_kind::mpt>;

}  // namespace freehca::commands

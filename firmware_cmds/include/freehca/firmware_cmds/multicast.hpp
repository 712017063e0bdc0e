// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/typed.hpp>
#include <freehca/layouts/mcg.hpp>

namespace freehca::commands {

/// Returns the index at which the hash chain of a group begins, in the immediate output.
using mgid_hash = family<opcode::mgid_hash, layouts::mcg_gid, immediate>;

/// Reads the entry of a group. `output` is the head of the entry. A caller that wants the members
/// too sets a longer output in the request: the size of an entry is a parameter of INIT_HCA.
using read_mcg = family<opcode::read_mcg, nothing, layouts::mcg_header, object_kind::mcg>;

/// Writes an entry of the table. The device reads an entry as large as the parameter of INIT_HCA
/// says, so a caller sets a longer input in the request.
using write_mcg = family<opcode::write_mcg, layouts::mcg_header, nothing, object_kind::mcg>;

}  // namespace freehca::commands

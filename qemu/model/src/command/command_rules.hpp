// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/layouts/mailboxes.hpp>
#include <freehca/layouts/opcode.hpp>

#include "basis/command.hpp"
#include "command/system_state.hpp"

namespace freehca::model {

layouts::mailboxes mailboxes_of(const command& c);

/// Does HW2SW_* write the context out? iPXE (hermon.c hermon_cmd_hw2sw_mpt) and Linux
/// (resource_tracker.c rem_slave_mrs) take regions back without saying that they have no mailbox:
/// nothing goes to address 0.
bool writes_context(const command& c);

/// The opcode modifiers that a command has, bit n for modifier n.
std::uint16_t modifiers_of(layouts::opcode o);
/// Do its opcode modifiers stand for operations of their own, and not for variants of one?
bool chooses_operation(layouts::opcode o);

/// The least state of the system in which firmware takes the command.
system_state least_state_of(layouts::opcode o);

/// A number that tells the object a command works on, equal for two commands that disturb each
/// other.
std::optional<std::uint64_t> object_of(const command& c);

}  // namespace freehca::model

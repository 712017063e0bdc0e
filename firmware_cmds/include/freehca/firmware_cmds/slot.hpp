// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/key_line.hpp>
#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// The channel's record of one command that the firmware has. If the command is detached or times
/// out, the slot outlives the command object. The slot then keeps the mailboxes and the leases of
/// the command.
struct command_slot {
  enum class use : std::uint8_t {
    free,
    in_flight,
    in_doubt,  ///< timed out, detached or failed with the device; `command` is null
    settled,   ///< answered late, or the device was reset
    due,       ///< the same, and the leases are settled after the current delivery of commands
  };
  freehca::command* command = nullptr;
  list<lease> leases;
  key_line line;  ///< of the object of the command
  std::uint64_t posted_at = 0;
  std::uint64_t deadline = operation::no_deadline;
  settlement end;
  /// The index is in the low bits, the generation above. A free slot has the token of its last use.
  std::uint16_t token = 0;
  std::uint8_t mailboxes = 0;  ///< number of mailboxes that the command uses, 0 to 2
  use state = use::free;
  bool ever_used = false;
  bool by_event = false;
  bool barrier = false;
};

}  // namespace freehca

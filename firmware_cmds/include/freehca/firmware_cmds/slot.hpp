// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/lease.hpp>
#include <freehca/hal/list.hpp>
#include <freehca/hal/operation.hpp>

namespace freehca {

/// The channel's record of one command that the firmware has. If the command is detached, times out
/// or fails with the device, the slot is in doubt: it outlives the command object, and keeps the
/// mailboxes and the leases of the command. As an operation, a slot is under way while it is in
/// doubt. The late answer or a reset ends it, and its completion settles the leases. The reactor
/// therefore completes the command first. The deadline of a slot is that of its command.
struct command_slot : operation {
  freehca::command* command = nullptr;  ///< null unless the slot is in flight
  list<lease> leases;
  key_line line;  ///< of the object of the command
  /// The index is in the low bits, the generation above. A free slot has the token of its last use.
  std::uint16_t token = 0;
  std::uint8_t mailboxes = 0;  ///< number of mailboxes that the command uses, 0 to 2
  bool ever_used = false;
  bool by_event = false;
  bool was_reset = false;  ///< a reset ended the doubt

  bool in_flight() const { return command != nullptr; }
  bool in_doubt() const { return where() == phase::queued; }
  bool free() const { return !in_flight() && !under_way(); }
};

}  // namespace freehca

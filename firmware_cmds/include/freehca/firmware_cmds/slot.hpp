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

/// The channel's record of one command that the firmware has: it outlives the command object when
/// that is detached or times out, and keeps the mailboxes and leases of it.
struct command_slot {
  enum class use : std::uint8_t {
    free,
    in_flight,
    in_doubt,  ///< not answered in time; `command` is null
    settled,   ///< answered late or reset
    told,      ///< ... and its command completes, if it has not: its leases are settled behind that
  };
  freehca::command* command = nullptr;
  list<lease> leases;
  key_line line;  ///< of its object
  std::uint64_t posted_at = 0;
  std::uint64_t deadline = operation::no_deadline;
  settlement end;
  std::uint16_t token = 0;  ///< index in the low bits, generation above; of the last use while free
  std::uint8_t mailboxes = 0;  ///< how many of its two the command uses
  use state = use::free;
  bool ever_used = false;
  bool by_event = false;
  bool barrier = false;
};

}  // namespace freehca

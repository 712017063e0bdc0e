// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "strict_calls.hpp"

namespace freehca::model::test {

/// One way of being wrong of one command.
struct wrong_call {
  layouts::opcode what;
  const char* how;
  /// Spoils the call and issues it.
  std::function<layouts::command_status(strict_world&, call&)> wrong;
  bool repairs = true;  ///< the call as it was is good afterwards

  std::string name() const { return std::string(layouts::name_of(what)) + "_" + how; }
};
inline void PrintTo(const wrong_call& w, std::ostream* to) {
  *to << w.name();
}

// What several commands have wrong in one way: another number, a field of the mailbox, the same
// once more.

template <std::uint32_t Number>
layouts::command_status numbered(strict_world& world, call& c) {
  return world.issue(c.numbered(Number));
}
template <class Mailbox, auto Field, auto Value>
layouts::command_status mailbox_with(strict_world& world, call& c) {
  c.change<Field, Mailbox>(Value);
  return world.issue(c);
}
inline layouts::command_status twice(strict_world& world, call& c) {
  EXPECT_EQ(world.issue(c), layouts::command_status::ok);
  return world.issue(c);
}

/// What every command can have: wrong times, modifiers, mailboxes, and an object that is busy.
void add_general_wrongs(std::vector<wrong_call>& to);
/// What each has of its own.
void add_bring_up_wrongs(std::vector<wrong_call>& to);
void add_object_wrongs(std::vector<wrong_call>& to);
void add_queue_pair_wrongs(std::vector<wrong_call>& to);
void add_port_wrongs(std::vector<wrong_call>& to);
void add_settings_wrongs(std::vector<wrong_call>& to);

std::vector<wrong_call> wrong_calls();

}  // namespace freehca::model::test

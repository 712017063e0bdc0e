// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace freehca::device_server {

/// How the program ends that was asked for nothing else.
inline constexpr int usage_error = 2;

/// What the command line asks for.
struct command_line {
  settings how;
  std::string question;  ///< --ask: for the server of the control socket; else one is to be
};

/// Reads it. `handed_over`: the clients' socket was, so none has to be named. -1: `to` has it; else
/// the program's exit code, after help, or after a message that says what is wrong.
int read_command_line(int argc, char** argv, bool handed_over, command_line& to);

}  // namespace freehca::device_server

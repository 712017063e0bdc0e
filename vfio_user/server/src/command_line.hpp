// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace freehca::device_server {

/// The exit code for wrong usage.
inline constexpr int usage_error = 2;

/// A parsed command line.
struct command_line {
  settings how;
  std::string question;    ///< the request of --ask; empty: the program is to serve
  std::string upgraded;    ///< the control socket that --upgrade names
  int keeper_socket = -1;  ///< a keeper has started the program
};

/// Parses the command line into `to`. If the clients' socket was handed over, no socket needs to be
/// named. Returns -1 on success. Otherwise it has printed the help or a message, and returns the
/// exit code.
int read_command_line(int argc, char** argv, bool handed_over, command_line& to);

}  // namespace freehca::device_server

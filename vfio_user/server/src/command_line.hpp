// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace freehca::device_server {

/// How the program ends that was asked for nothing else.
inline constexpr int usage_error = 2;

/// Reads the command line. -1: `to` has it; else the program's exit code, after help, or after a
/// message that says what is wrong.
int read_command_line(int argc, char** argv, settings& to);

}  // namespace freehca::device_server

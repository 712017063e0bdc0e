// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::run {

/// Exit statuses of the launcher itself. The last two are those of env(1) and of shells.
inline constexpr int system_error = 1;
inline constexpr int usage_error = 2;
inline constexpr int cannot_run = 126;
inline constexpr int not_found = 127;

/// Why the launcher starts no program.
struct refusal {
  int status = system_error;
  std::string message;
};

/// Prints the message on stderr, and with `json` also as an object on stdout. Returns the status.
int report(const refusal& why, bool json);

}  // namespace freehca::run

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::device_server {

/// The exit code of --ask if the server refuses the request.
inline constexpr int refused = 3;

/// Sends the request to the control socket at `path` and prints the answer. Returns the exit code.
int ask_server(const std::string& path, const std::string& request);

/// Asks the server with the control socket at `path` to hand over to its program file. Prints the
/// result. Returns the exit code.
int upgrade_server(const std::string& path);

}  // namespace freehca::device_server

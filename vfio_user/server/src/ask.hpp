// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::device_server {

/// How --ask ends when the answer says no.
inline constexpr int refused = 3;

/// Asks the server whose control socket is there, and prints its answer. The program's exit code.
int ask_server(const std::string& path, const std::string& request);

}  // namespace freehca::device_server

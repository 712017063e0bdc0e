// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::hcactl {

/// Has it done by a program that stands beside this one. Returns only when that cannot be run: the
/// exit code, after a message.
int run_another_program(const std::string& name, char** arguments, bool json);

}  // namespace freehca::hcactl

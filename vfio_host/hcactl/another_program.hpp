// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::hcactl {

/// Replaces this program by another one in the same folder. Returns only if that program cannot be
/// run: it prints a message and returns the exit code.
int run_another_program(const std::string& name, char** arguments, bool json);

}  // namespace freehca::hcactl

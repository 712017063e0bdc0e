// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/closed_process/closing.hpp>

namespace freehca::closed_process {

/// Applies a Landlock ruleset with all rights that the kernel can handle. Returns "" and the ABI in
/// force, or the reason for a failure. Without no_new_privs it fails.
std::string apply_path_rules(const permissions& kept, const kernel_functions& kernel, int& abi);

}  // namespace freehca::closed_process

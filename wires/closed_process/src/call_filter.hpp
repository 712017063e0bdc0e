// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/closed_process/permissions.hpp>

namespace freehca::closed_process {

/// Loads the filter of system calls. Returns "", or the reason for a failure.
std::string load_call_filter(const permissions& kept);

}  // namespace freehca::closed_process

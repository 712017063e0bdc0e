// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace freehca::hcactl {

/// Which argument is wrong, its value and the values that it may have; of a command or an option
/// that does not exist, those that do.
std::string wrong_usage(const CLI::App& app, const CLI::Error& e);

}  // namespace freehca::hcactl

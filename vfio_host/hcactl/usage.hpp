// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace freehca::hcactl {

/// What is said of wrong usage: the argument, its value and what it may be, also of a command or an
/// option that does not exist.
std::string explain_usage(const CLI::App& app, const CLI::Error& e);

}  // namespace freehca::hcactl

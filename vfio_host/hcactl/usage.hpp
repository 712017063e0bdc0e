// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace freehca::hcactl {

/// The message about wrong usage: the argument, its value and the permitted values. It also covers
/// commands and options that do not exist.
std::string explain_usage(const CLI::App& app, const CLI::Error& e);

}  // namespace freehca::hcactl

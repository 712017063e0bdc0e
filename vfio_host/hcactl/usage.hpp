// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include <freehca/layouts/qpc.hpp>

namespace freehca::hcactl {

/// Has `app` say of wrong usage which argument is wrong, what its value is and what it may be: also
/// of a command or an option that does not exist.
void explain_wrong_usage(CLI::App& app);

/// For an option that takes one of these names.
CLI::Validator one_of(const std::map<std::string, layouts::qp_service>& names);

}  // namespace freehca::hcactl

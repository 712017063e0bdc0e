// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/conformance/runner.hpp>

#include "work.hpp"

namespace freehca::hcactl {

/// The list of checks as text, by group and row, with the command that performs them.
std::string list_to_text(const std::string& address);
nlohmann::json list_to_json();

/// Performs the checks. `heard` receives the events of the adapter. If a row differs, the result is
/// an error, and workplace::found has the document of all rows.
findings run_conformance(workplace& at, conformance::heard_events& heard,
                         const conform_options& how);

}  // namespace freehca::hcactl

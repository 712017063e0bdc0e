// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include <freehca/conformance/runner.hpp>

#include "work.hpp"

namespace freehca::hcactl {

/// The list: what is done, group by group and row by row, and how to have it done.
std::string list_to_text(const std::string& address);
nlohmann::json list_to_json();

/// Runs the list. `heard` is what workplace::events tells. A row that differs is an error, with the
/// document of all rows beside it.
findings run_conformance(workplace& at, conformance::heard_events& heard,
                         const conform_options& how);

}  // namespace freehca::hcactl

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>

namespace freehca::hcactl {

/// Makes one table of context memory as large as the user says: "qps=18" is room for 2^18 queue
/// pairs, those that the firmware keeps for itself included. Empty, or a message that says what is
/// allowed.
std::string set_size(budget& of, const std::string& text);

/// The NAME that makes more or fewer of these; empty: none does.
std::string size_name(budget::item of);

/// The option that made this many of them, and between what the adapter allows that: "--size
/// qps=24 is not from 7 to 19: ...". Empty: the adapter has not told.
std::string size_limit(budget::item of, const budget& b, const capabilities& can);

/// Whether any of them is not what it is by default.
bool sized(const budget& b);

}  // namespace freehca::hcactl

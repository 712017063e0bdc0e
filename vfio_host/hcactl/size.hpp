// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>

namespace freehca::hcactl {

/// Sets the size of one table of context memory from the user's text: "qps=18" is room for 2^18
/// queue pairs, including those that the firmware reserves. Returns an empty text, or a message
/// with the permitted values.
std::string set_size(budget& of, const std::string& text);

/// The NAME of --size that sets this item. Empty if there is none.
std::string size_name(budget::item of);

/// A message with the option that set this size, and the range that the adapter permits: "--size
/// qps=24 is not from 7 to 19: ...". Empty if the adapter has not reported its limits.
std::string size_limit(budget::item of, const budget& b, const capabilities& can);

/// Whether any size differs from its default.
bool sized(const budget& b);

}  // namespace freehca::hcactl

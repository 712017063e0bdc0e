// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include <freehca/layouts/query_dev_cap.hpp>

namespace freehca::description {

/// The names of all that QUERY_DEV_CAP answers with yes: the bits of its four words of flags, and
/// its fields of one bit. A bit that has no name is named by its word and number, such as
/// "flags_27": nothing is left out.
std::vector<std::string> flag_names(const layouts::image<layouts::query_dev_cap>& of);

}  // namespace freehca::description

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

#include <freehca/layouts/query_dev_cap.hpp>

namespace freehca::description {

/// The names of all flags that are set in the answer to QUERY_DEV_CAP: the bits of its four words
/// of flags, and its fields of one bit. A bit without a name appears as its word and number, such
/// as "flags_27", so that no bit is left out.
std::vector<std::string> flag_names(const layouts::image<layouts::query_dev_cap>& of);

}  // namespace freehca::description

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::model::test {

/// Does what was found begin with the name of a field of the layout tables, of a parameter of the
/// command, or of the object that is wrong?
bool names_a_field(const std::string& found);

}  // namespace freehca::model::test

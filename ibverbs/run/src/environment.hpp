// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include "command_line.hpp"

namespace freehca::run {

/// Sets the environment variables by which the preloaded library takes what the command line says.
/// A variable whose option was not given stays as it is.
void set_environment(const request& what, const std::string& library);

}  // namespace freehca::run

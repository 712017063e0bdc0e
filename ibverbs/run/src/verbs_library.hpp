// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <variant>

#include "command_line.hpp"
#include "refusal.hpp"

namespace freehca::run {

/// The absolute path of the library for the device that was asked for: that of FREEHCA_VERBS, or
/// else the one that was installed or built with this launcher. Or why there is none that can be
/// preloaded.
std::variant<std::string, refusal> find_verbs_library(const request& what);

}  // namespace freehca::run

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <variant>

#include "refusal.hpp"

namespace freehca::run {

/// The absolute path of libfreehca-verbs.so: that of FREEHCA_VERBS, or else the library that was
/// installed or built with this launcher. Or why there is none that can be preloaded.
std::variant<std::string, refusal> find_verbs_library();

}  // namespace freehca::run

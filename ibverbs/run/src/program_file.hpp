// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "refusal.hpp"

namespace freehca::run {

/// The file that execvp() would run for this name: a path if there is a slash in it, otherwise the
/// first executable file of the folders in PATH. Or why there is none.
std::variant<std::string, refusal> find_program(const std::string& name);

/// Why a preloaded library would not reach the program in this file. A script is judged by its
/// interpreter, and a script of env(1) by the interpreter that env looks for. No value: the library
/// reaches it.
std::optional<refusal> check_program(const std::string& path);

}  // namespace freehca::run

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// freehca-run: becomes an RDMA program that has libfreehca-verbs.so before its other libraries.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "command_line.hpp"
#include "environment.hpp"
#include "fabric_list.hpp"
#include "program_file.hpp"
#include "verbs_library.hpp"

namespace {

using namespace freehca::run;

/// Comes back only with a refusal.
refusal become_program(const request& what) {
  const std::variant<std::string, refusal> program = find_program(what.program[0]);
  if (const refusal* why = std::get_if<refusal>(&program)) return *why;
  const std::string& path = std::get<std::string>(program);
  if (const std::optional<refusal> why = check_program(path)) return *why;
  const std::variant<std::string, refusal> library = find_verbs_library(what);
  if (const refusal* why = std::get_if<refusal>(&library)) return *why;
  set_environment(what, std::get<std::string>(library));
  execv(path.c_str(), what.program);
  return {cannot_run, fmt::format("{} cannot be run: {}", path, std::strerror(errno))};
}

}  // namespace

int main(int argc, char** argv) {
  request what;
  try {
    if (const int code = read_command_line(argc, argv, what); code >= 0) return code;
    if (what.list) return list_fabrics(what.json);
    return report(become_program(what), what.json);
  } catch (const std::exception& e) {
    return report({system_error, e.what()}, what.json);
  }
}

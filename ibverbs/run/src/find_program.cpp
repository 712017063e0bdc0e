// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "program_file.hpp"

namespace freehca::run {
namespace {

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool may_run(const std::string& path) {
  return is_file(path) && eaccess(path.c_str(), X_OK) == 0;
}

refusal no_permission(const std::string& path) {
  return {cannot_run, fmt::format("{} is not executable; chmod +x {} makes it so", path, path)};
}

std::variant<std::string, refusal> find_path(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return refusal{not_found, fmt::format("{}: there is no such program", path)};
  if (!S_ISREG(status.st_mode))
    return refusal{cannot_run, fmt::format("{} is no program; it is a {}", path,
                                           S_ISDIR(status.st_mode) ? "folder" : "special file")};
  if (!may_run(path)) return no_permission(path);
  return path;
}

}  // namespace

std::variant<std::string, refusal> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return find_path(name);
  const char* const variable = std::getenv("PATH");
  std::string folders = variable != nullptr ? variable : "/bin:/usr/bin";
  std::string without_permission;
  for (std::size_t begin = 0; begin <= folders.size() && !name.empty();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    // An empty entry is the current folder.
    const std::string folder = end == begin ? "." : folders.substr(begin, end - begin);
    const std::string path = folder + "/" + name;
    if (may_run(path)) return path;
    if (is_file(path) && without_permission.empty()) without_permission = path;
    begin = end + 1;
  }
  if (!without_permission.empty()) return no_permission(without_permission);
  return refusal{not_found, fmt::format("{}: no folder of PATH has such a program; a path with a "
                                        "slash names one elsewhere",
                                        name.empty() ? "''" : name)};
}

}  // namespace freehca::run

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "verbs_library.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "elf_header.hpp"

namespace freehca::run {
namespace {

constexpr const char* modelled = "libfreehca-verbs.so";
constexpr const char* over_vfio = "libfreehca-verbs-vfio.so";

bool is_library_of_this_machine(const std::string& path) {
  const int opened = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return false;
  const std::optional<elf_header> header = read_elf_header(opened);
  close(opened);
  const std::optional<elf_header> own = own_elf_header();
  return header && own && header->same_machine(*own);
}

std::variant<std::string, refusal> check(const std::string& path, const std::string& remedy) {
  if (!is_library_of_this_machine(path))
    return refusal{system_error, fmt::format("{} is no library of this machine; {}", path, remedy)};
  // LD_PRELOAD separates its entries by both, and has no way to quote them.
  if (path.find_first_of(" :") != std::string::npos)
    return refusal{system_error,
                   fmt::format("{} cannot be preloaded: there is a space or a colon in its path; "
                               "move it, or let FREEHCA_VERBS name a copy",
                               path)};
  return path;
}

}  // namespace

std::variant<std::string, refusal> find_verbs_library(const request& what) {
  const char* const library = what.device.empty() ? modelled : over_vfio;
  const char* const other = what.device.empty() ? over_vfio : modelled;
  std::error_code unknown;
  if (const char* chosen = std::getenv("FREEHCA_VERBS"); chosen != nullptr && *chosen != '\0') {
    const std::filesystem::path path = std::filesystem::absolute(chosen, unknown);
    if (path.filename() == other)
      return refusal{
          system_error,
          fmt::format("FREEHCA_VERBS names {}, which is not for {}; unset it", path.string(),
                      what.device.empty() ? "a modelled adapter" : what.device)};
    return check(path.lexically_normal().string(), "let FREEHCA_VERBS name one, or unset it");
  }
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown)
    return refusal{system_error,
                   "the launcher does not find its own folder by /proc/self/exe; mount /proc"};
  // Installed: bin and lib/freehca. Built: the folder of this program is below that of the library.
  for (const char* from_launcher : {"../lib/freehca", ".."}) {
    const std::filesystem::path path = self.parent_path() / from_launcher / library;
    if (std::filesystem::exists(path, unknown))
      return check(path.lexically_normal().string(), "install or build it with freehca-run");
  }
  return refusal{system_error, fmt::format("{} is not beside {}; install or build it, or let "
                                           "FREEHCA_VERBS name it",
                                           library, self.string())};
}

}  // namespace freehca::run

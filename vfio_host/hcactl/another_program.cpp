// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "another_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include <freehca/vfio_host/failure.hpp>

#include "print.hpp"

namespace freehca::hcactl {

int run_another_program(const std::string& name, char** arguments, bool json) {
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::string program = (self.parent_path() / name).string();
  // No file is open yet that the other program would inherit.
  ::execv(program.c_str(), arguments);
  return report(
      {vfio_host::trouble::system,
       fmt::format("{} cannot be run: {}; it is built with hcactl", program, std::strerror(errno))},
      json);
}

}  // namespace freehca::hcactl

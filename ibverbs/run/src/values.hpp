// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::run {

/// Each function returns "" for a good value, otherwise what is wrong with it and what is right.

std::string check_fabric(const std::string& name);

/// "vfio:" and the address of a PCI function.
std::string check_device(const std::string& device);

/// A file that the program's process will write. The file may exist.
std::string check_output(const std::string& path);

}  // namespace freehca::run

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>
#include <string>

#include "settings.hpp"

namespace freehca::device_server {

/// One setting: its name is that of the property of QEMU's device, where that has it
/// (tests/vfio_user/same_names.py).
struct setting_row {
  const char* name;
  const char* what;
  /// "", or what is allowed instead of `text`.
  std::string (*take)(settings& to, const std::string& text);
};

std::span<const setting_row> setting_rows();

/// As a setting's `take`, for switches.
std::string take_switch(bool& to, const std::string& text);

/// When all have been taken: "", or why they do not go together. Fills in what follows from others.
std::string finish(settings& all);

}  // namespace freehca::device_server

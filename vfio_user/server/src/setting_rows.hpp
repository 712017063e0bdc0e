// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>
#include <string>

#include "settings.hpp"

namespace freehca::device_server {

/// One setting. If QEMU's device has a property for it, the names are equal
/// (tests/vfio_user/same_names.py).
struct setting_row {
  const char* name;
  const char* what;
  /// Sets the value. Returns "", or a message with the permitted values.
  std::string (*take)(settings& to, const std::string& text);
};

std::span<const setting_row> setting_rows();

/// A function for `take` of settings that are switches.
std::string take_switch(bool& to, const std::string& text);

/// Called after all settings. Fills in values that depend on others. Returns "", or a message about
/// settings that exclude each other.
std::string finish(settings& all);

}  // namespace freehca::device_server

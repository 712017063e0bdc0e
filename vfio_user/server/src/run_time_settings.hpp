// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <span>
#include <string>

#include "adapter_function.hpp"
#include "settings.hpp"

namespace freehca::device_server {

/// The objects for changes while an adapter is served: its settings, and the function that uses
/// them.
struct served_adapter {
  settings& how;
  adapter_function& function;
};

/// One setting that can be read and changed while the adapter is served. Names are those of the
/// properties that QMP sets at run time (tests/vfio_user/same_names.py).
struct run_time_setting {
  const char* name;
  const char* what;
  std::string (*read)(const served_adapter& of);
  /// Changes the setting. Returns "", or a message; then nothing has changed.
  std::string (*write)(served_adapter& to, const std::string& text);
};

std::span<const run_time_setting> run_time_settings();

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/status.hpp>

namespace freehca::bare {

/// Why something did not work, as it is told on the console: three texts that live for ever. `what`
/// is null when all is well.
struct [[nodiscard]] trouble {
  const char* step = nullptr;    ///< what was being done
  const char* what = nullptr;    ///< what went wrong
  const char* remedy = nullptr;  ///< what the reader can do about it
  status cause;                  ///< said too, when it is not ok

  bool ok() const { return what == nullptr; }
};

}  // namespace freehca::bare

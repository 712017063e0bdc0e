// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdlib>

namespace freehca::ibverbs {

/// The value of an environment variable; "": it is not set.
inline const char* environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace freehca::ibverbs

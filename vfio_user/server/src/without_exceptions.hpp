// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <new>

namespace freehca::device_server {

/// Calls the function, and returns false if an allocation failed in it.
template <class Call>
bool without_exceptions(const Call& call) noexcept {
  try {
    call();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/assert.hpp>

namespace freehca {

/// Returns `storage` as room for objects of type T, which the caller constructs there. `storage`
/// must be aligned for T. The cast goes through void*, because a direct cast is a warning on
/// machines that require aligned accesses.
template <class T>
T* storage_for(std::byte* storage) {
  FREEHCA_ASSERT(reinterpret_cast<std::uintptr_t>(storage) % alignof(T) == 0);
  return static_cast<T*>(static_cast<void*>(storage));
}

}  // namespace freehca

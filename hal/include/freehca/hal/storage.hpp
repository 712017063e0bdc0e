// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/assert.hpp>

namespace freehca {

/// Storage that a caller handed over as room for objects of type T, which the taker makes there. It
/// is aligned for them. By way of void*: on machines that want aligned accesses a direct cast is a
/// warning.
template <class T>
T* storage_for(std::byte* storage) {
  FREEHCA_ASSERT(reinterpret_cast<std::uintptr_t>(storage) % alignof(T) == 0);
  return static_cast<T*>(static_cast<void*>(storage));
}

}  // namespace freehca

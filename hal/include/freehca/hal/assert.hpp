// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

// If a precondition is broken, debug builds trap. In release builds the function returns a defined
// error status or does nothing. It never aborts.
#ifdef NDEBUG
#define FREEHCA_ASSERT(condition) static_cast<void>(0)
#else
#define FREEHCA_ASSERT(condition)       \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)
#endif

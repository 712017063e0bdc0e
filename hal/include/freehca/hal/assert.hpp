// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

// A broken precondition traps in debug builds. In release builds the function that was called
// wrongly answers with a defined error status or does nothing; it never aborts.
#ifdef NDEBUG
#define FREEHCA_ASSERT(condition) static_cast<void>(0)
#else
#define FREEHCA_ASSERT(condition)       \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)
#endif

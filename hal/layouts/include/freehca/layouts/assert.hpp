// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

// A value too wide for its field is a bug of the caller, never a silent mask. In constant
// evaluation it does not compile; in debug builds it traps; in release builds it is cut to the
// field, so that it cannot spill into a neighbour (every value that comes from outside is
// range-checked before it is set).
#ifdef NDEBUG
#define FREEHCA_LAYOUT_ASSERT(condition)                                  \
  do {                                                                    \
    if (std::is_constant_evaluated() && !(condition)) __builtin_unreachable(); \
  } while (false)
#else
#define FREEHCA_LAYOUT_ASSERT(condition) \
  do {                                   \
    if (!(condition)) __builtin_trap();  \
  } while (false)
#endif

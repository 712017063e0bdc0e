// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: deleted
#include <freehca/hal/operation.hpp>
void copy(freehca::operation& one);
void copy(freehca::operation& one) {
#ifdef FREEHCA_MAKE_IT_RIGHT
  freehca::operation& other = one;
#else
  freehca::operation other = one;
#endif
  other.cancel();
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: ignoring return(ed)? value
#include <freehca/hal/status.hpp>
freehca::status refuse();
void careless();
void careless() {
#ifdef FREEHCA_MAKE_IT_RIGHT
  static_cast<void>(refuse());
#else
  refuse();
#endif
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: a table holds rows only
#include <freehca/layouts/layout.hpp>
using namespace freehca::layouts;
struct sample {
  static constexpr std::size_t bytes = 4;
  bits field {0x00, 7, 0, "field"};
#ifndef FREEHCA_MAKE_IT_RIGHT
  int  stray = 0;
#endif
};
image<sample> i;

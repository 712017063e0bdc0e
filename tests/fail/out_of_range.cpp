// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: a field is out of range or overlaps another
#include <freehca/layouts/layout.hpp>
using namespace freehca::layouts;
struct sample {
#ifdef FREEHCA_MAKE_IT_RIGHT
  static constexpr std::size_t bytes = 0x0c;
#else
  static constexpr std::size_t bytes = 0x08;
#endif
  bits field {0x08, 7, 0, "field"};
};
image<sample> i;

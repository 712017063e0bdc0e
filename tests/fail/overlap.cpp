// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: a field is out of range or overlaps another
#include <freehca/layouts/layout.hpp>
using namespace freehca::layouts;
struct sample {
  static constexpr std::size_t bytes = 4;
  bits first  {0x00, 8, 0, "first"};
#ifdef FREEHCA_MAKE_IT_RIGHT
  bits second {0x00, 15, 9, "second"};
#else
  bits second {0x00, 15, 8, "second"};
#endif
};
image<sample> i;

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: a field is out of range or overlaps another
#include <freehca/layouts/layout.hpp>
using namespace freehca::layouts;
struct sample {
  static constexpr std::size_t bytes = 0x10;
#ifdef FREEHCA_MAKE_IT_RIGHT
  bits field {0x04, 15, 0, "field"};
#else
  bits field {0x06, 15, 0, "field"};
#endif
};
image<sample> i;

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: a field is out of range or overlaps another
// hi above 31 makes it a 64-bit word, which would end four bytes after the structure.
#include <freehca/layouts/layout.hpp>
using namespace freehca::layouts;
struct sample {
  static constexpr std::size_t bytes = 0x10;
#ifdef FREEHCA_MAKE_IT_RIGHT
  addr field {0x08, 39, 3, "field"};
#else
  addr field {0x0c, 39, 3, "field"};
#endif
};
image<sample> i;

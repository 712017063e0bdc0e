// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: field name too long
#include <freehca/layouts/layout.hpp>
using namespace freehca::layouts;
struct sample {
  static constexpr std::size_t bytes = 4;
#ifdef FREEHCA_MAKE_IT_RIGHT
  bits field {0x00, 7, 0, "a_name_of_27_characters_fit"};
#else
  bits field {0x00, 7, 0, "a_name_of_28_characters_not_"};
#endif
};
image<sample> i;

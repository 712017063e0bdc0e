// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: this field is not a byte string
#include <freehca/layouts/mcg.hpp>
using namespace freehca::layouts;
auto f(const image<mcg_header>& i) {
#ifdef FREEHCA_MAKE_IT_RIGHT
  return i.get<&mcg_header::members_count>();
#else
  return i.bytes_of<&mcg_header::members_count>();
#endif
}

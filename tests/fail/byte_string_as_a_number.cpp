// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: a byte string is read by bytes_of
#include <freehca/layouts/mcg.hpp>
using namespace freehca::layouts;
auto f(const image<mcg_header>& i) {
#ifdef FREEHCA_MAKE_IT_RIGHT
  return i.bytes_of<&mcg_header::gid>();
#else
  return i.get<&mcg_header::gid>();
#endif
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: layout: this field is of another table
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
using namespace freehca::layouts;
void f() {
  image<eqc> i;
#ifdef FREEHCA_MAKE_IT_RIGHT
  i.set<&eqc::page_offset>(1);
#else
  i.set<&cqc::page_offset>(1);
#endif
}

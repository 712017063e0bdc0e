// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: cannot convert|invalid conversion|no viable conversion|no known conversion|cannot
// initialize
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
using namespace freehca::layouts;
void f() {
  image<eqc> i;
#ifdef FREEHCA_MAKE_IT_RIGHT
  i.set<&eqc::state>(eq_state::armed);
#else
  i.set<&eqc::state>(cq_state::armed);
#endif
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: no (matching|viable)|no known conversion|no match for
#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/layouts/eqc.hpp>
void fill();
void fill() {
  freehca::firmware_command<freehca::commands::sw2hw_cq> create{1u};
#ifdef FREEHCA_MAKE_IT_RIGHT
  create.input = freehca::layouts::image<freehca::layouts::cqc>();
#else
  create.input = freehca::layouts::image<freehca::layouts::eqc>();
#endif
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
// EXPECT: no matching (function|constructor)
#include <freehca/firmware_cmds/cq.hpp>
void make();
void make() {
#ifdef FREEHCA_MAKE_IT_RIGHT
  freehca::firmware_command<freehca::commands::hw2sw_cq> destroy{7u};
#else
  freehca::firmware_command<freehca::commands::hw2sw_cq> destroy;
#endif
  destroy.cancel();
}

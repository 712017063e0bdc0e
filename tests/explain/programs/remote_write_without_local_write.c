// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A region with IBV_ACCESS_REMOTE_WRITE and without IBV_ACCESS_LOCAL_WRITE.
#include "rig.h"

static int register_target(void) {
  const int rights = IBV_ACCESS_REMOTE_WRITE | WRONG_OR_RIGHT(0, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_mr* to = ibv_reg_mr(domain, target, BLOCK, rights);
  return to == NULL ? errno : 0;
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  return show_error(register_target(), EINVAL, writes_block());
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A completion queue is destroyed while queue pairs use it.
#include "rig.h"

static int destroy_queue(void) {
  if (IS_HEALTHY) {
    must(writes_block(), "a write");
    must(ibv_destroy_qp(requester) == 0, "ibv_destroy_qp");
  }
  return ibv_destroy_cq(requester_cq);
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  return show_error(destroy_queue(), EBUSY, 1);
}

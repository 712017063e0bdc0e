// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// More requests than the send queue has room for, without a look at completions.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static int write_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  return ibv_post_send(requester, &wr, &bad);
}

static int write_many(void) {
  int error = 0;
  for (int i = 0; i < 4000 && error == 0; ++i) {
    error = write_block();
    if (IS_HEALTHY && error == 0 && i % 16 == 15)
      for (int n = 0; n < 16; ++n) completion_of(requester_cq);
  }
  return error;
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  const int error = write_many();
  return show_error(error, ENOMEM, memcmp(source, target, BLOCK) == 0);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An RDMA read on an unreliable connected queue pair, which has none.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, IBV_ACCESS_REMOTE_READ);
  to = ibv_reg_mr(domain, target, BLOCK, IBV_ACCESS_LOCAL_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static int read_block(void) {
  struct ibv_sge entry = piece(target, BLOCK, to->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_READ, &entry, source, from->rkey), *bad;
  return ibv_post_send(requester, &wr, &bad);
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(WRONG_OR_RIGHT(IBV_QPT_UC, IBV_QPT_RC));
  connect_queue_pairs();
  // Libraries may refuse the request at once, or leave that to the adapter.
  const int error = read_block();
  if (error != 0) return show_error(error, EINVAL, 0);
  return show_completion(requester_cq, IBV_WC_LOC_QP_OP_ERR, target, BLOCK);
}

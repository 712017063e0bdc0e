// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A read that begins inside the remote region and ends behind it.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, WRONG_OR_RIGHT(BLOCK - 1, BLOCK), IBV_ACCESS_REMOTE_READ);
  to = ibv_reg_mr(domain, target, BLOCK, IBV_ACCESS_LOCAL_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("rkey", from->rkey);
  fact("length", from->length);
}

static void read_block(void) {
  struct ibv_sge entry = piece(target, BLOCK, to->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_READ, &entry, source, from->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  read_block();
  return show_completion(requester_cq, IBV_WC_REM_ACCESS_ERR, target, BLOCK);
}

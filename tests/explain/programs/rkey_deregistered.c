// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A write with the rkey of a region that the program has deregistered.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("rkey", to->rkey);
}

static void release_target(void) {
  if (!IS_HEALTHY) must(ibv_dereg_mr(to) == 0, "ibv_dereg_mr");
}

static void write_block(uint32_t rkey) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  const uint32_t rkey = to->rkey;
  release_target();
  write_block(rkey);
  return show_completion(requester_cq, IBV_WC_REM_ACCESS_ERR, target, BLOCK);
}

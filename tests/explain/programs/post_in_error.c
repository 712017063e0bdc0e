// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A send request for a queue pair in the error state is flushed.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void stop_requester(void) {
  struct ibv_qp_attr how = {.qp_state = IBV_QPS_ERR};
  if (!IS_HEALTHY) must(ibv_modify_qp(requester, &how, IBV_QP_STATE) == 0, "ibv_modify_qp");
}

static void write_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  stop_requester();
  write_block();
  return show_completion(requester_cq, IBV_WC_WR_FLUSH_ERR, target, BLOCK);
}

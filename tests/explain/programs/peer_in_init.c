// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A write to a queue pair that is still in INIT.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void connect_pair(void) {
  bring_up(requester, attributes_towards(responder), IBV_QPS_RTS);
  bring_up(responder, attributes_towards(requester), WRONG_OR_RIGHT(IBV_QPS_INIT, IBV_QPS_RTR));
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
  connect_pair();
  write_block();
  return show_completion(requester_cq, IBV_WC_RETRY_EXC_ERR, target, BLOCK);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requester is connected with a queue pair number that does not exist.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void connect_pair(void) {
  struct ibv_qp_attr how = attributes_towards(responder);
  how.dest_qp_num += WRONG_OR_RIGHT(0x200, 0);
  fact("peer", how.dest_qp_num);
  bring_up(requester, how, IBV_QPS_RTS);
  bring_up(responder, attributes_towards(requester), IBV_QPS_RTS);
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

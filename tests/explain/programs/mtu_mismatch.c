// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requester sends packets of 1024 bytes, the responder takes at most 256.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BUFFER, 0);
  to = ibv_reg_mr(domain, target, BUFFER, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void connect_pair(void) {
  struct ibv_qp_attr how = attributes_towards(requester);
  how.path_mtu = WRONG_OR_RIGHT(IBV_MTU_256, IBV_MTU_1024);
  bring_up(responder, how, IBV_QPS_RTS);
  bring_up(requester, attributes_towards(responder), IBV_QPS_RTS);
}

static void write_block(void) {
  struct ibv_sge entry = piece(source, 4 * BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_pair();
  write_block();
  return show_completion(requester_cq, IBV_WC_REM_INV_REQ_ERR, target, 4 * BLOCK);
}

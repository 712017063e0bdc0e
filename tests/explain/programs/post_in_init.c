// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A send request for a queue pair in INIT.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static int post_write(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  return ibv_post_send(requester, &wr, &bad);
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  bring_up(responder, attributes_towards(requester), IBV_QPS_RTS);
  bring_up(requester, attributes_towards(responder), WRONG_OR_RIGHT(IBV_QPS_INIT, IBV_QPS_RTS));
  const int error = post_write();
  if (error == 0) completion_of(requester_cq);
  return show_error(error, EINVAL, memcmp(source, target, BLOCK) == 0);
}

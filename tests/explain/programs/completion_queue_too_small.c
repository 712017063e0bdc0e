// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// More completions than the completion queue has room for.
#include "rig.h"

static struct ibv_mr *from, *to;
static struct ibv_cq* small;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void create_small_queue(void) {
  small = ibv_create_cq(device, WRONG_OR_RIGHT(3, 64), NULL, NULL, 0);
  must(small != NULL, "ibv_create_cq");
  fact("entries", small->cqe);
}

static void create_requester(void) {
  create_queue_pairs(IBV_QPT_RC);
  must(ibv_destroy_qp(requester) == 0, "ibv_destroy_qp");
  struct ibv_qp_init_attr plan = queue_pair_plan(IBV_QPT_RC, small);
  requester = ibv_create_qp(domain, &plan);
  must(requester != NULL, "ibv_create_qp");
}

static void write_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_small_queue();
  create_requester();
  connect_queue_pairs();
  for (int i = 0; i < 12; ++i) write_block();
  for (int i = 0; IS_HEALTHY && i < 12; ++i)
    must(completion_of(small).status == IBV_WC_SUCCESS, "a write");
  return show_event(IBV_EVENT_CQ_ERR, memcmp(source, target, BLOCK) == 0);
}

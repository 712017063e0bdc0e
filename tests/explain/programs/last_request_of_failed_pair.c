// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A write without permission ends a responder with a shared receive queue.
// IBV_EVENT_QP_LAST_WQE_REACHED follows from it.
#include "rig.h"

static struct ibv_mr *from, *to;
static struct ibv_srq* shared;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BUFFER, 0);
  to = ibv_reg_mr(domain, target, BUFFER, WRONG_OR_RIGHT(IBV_ACCESS_LOCAL_WRITE, ALL_RIGHTS));
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("rkey", to->rkey);
}

static void create_shared_queue(void) {
  struct ibv_srq_init_attr plan = {.attr = {.max_wr = 16, .max_sge = 1}};
  shared = ibv_create_srq(domain, &plan);
  must(shared != NULL, "ibv_create_srq");
}

static void create_responder(void) {
  create_queue_pairs(IBV_QPT_RC);
  must(ibv_destroy_qp(responder) == 0, "ibv_destroy_qp");
  struct ibv_qp_init_attr plan = queue_pair_plan(IBV_QPT_RC, responder_cq);
  plan.srq = shared;
  responder = ibv_create_qp(domain, &plan);
  must(responder != NULL, "ibv_create_qp");
  fact("responder", responder->qp_num);
}

static void write_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_shared_queue();
  create_responder();
  connect_queue_pairs();
  write_block();
  must(completion_of(requester_cq).status == WRONG_OR_RIGHT(IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS),
       "the status of the write");
  // Of other events, that of the refused access comes first.
  if (!IS_HEALTHY) must(event_of_device().event_type == IBV_EVENT_QP_ACCESS_ERR, "its event");
  return show_event(IBV_EVENT_QP_LAST_WQE_REACHED, memcmp(source, target, BLOCK) == 0);
}

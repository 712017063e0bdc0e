// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A shared receive queue has fewer receives left than its limit.
#include "rig.h"

static struct ibv_mr *from, *to;
static struct ibv_srq* shared;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BUFFER, 0);
  to = ibv_reg_mr(domain, target, BUFFER, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
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
}

static void post_shared_receive(void) {
  struct ibv_sge entry = piece(target, BLOCK, to->lkey);
  struct ibv_recv_wr wr = receive_request(&entry), *bad;
  must(ibv_post_srq_recv(shared, &wr, &bad) == 0, "ibv_post_srq_recv");
}

static void send_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = request(IBV_WR_SEND, &entry), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

static void arm_limit(void) {
  struct ibv_srq_attr limit = {.srq_limit = 2};
  must(ibv_modify_srq(shared, &limit, IBV_SRQ_LIMIT) == 0, "ibv_modify_srq");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_shared_queue();
  create_responder();
  connect_queue_pairs();
  for (int i = 0; i < WRONG_OR_RIGHT(2, 8); ++i) post_shared_receive();
  arm_limit();
  send_block();
  must(completion_of(responder_cq).status == IBV_WC_SUCCESS, "the send");
  return show_event(IBV_EVENT_SRQ_LIMIT_REACHED, memcmp(source, target, BLOCK) == 0);
}

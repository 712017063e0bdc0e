// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A send to a queue pair whose shared receive queue is empty.
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
  fact("responder", responder->qp_num);
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

int main(void) {
  open_rig();
  setup_buffers();
  create_shared_queue();
  create_responder();
  connect_queue_pairs();
  if (IS_HEALTHY) post_shared_receive();
  send_block();
  return show_completion(requester_cq, IBV_WC_RNR_RETRY_EXC_ERR, target, BLOCK);
}

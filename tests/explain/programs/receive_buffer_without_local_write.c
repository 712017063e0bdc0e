// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A receive into a region without IBV_ACCESS_LOCAL_WRITE.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, WRONG_OR_RIGHT(0, IBV_ACCESS_LOCAL_WRITE));
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("lkey", to->lkey);
}

static void post_receive(void) {
  struct ibv_sge entry = piece(target, BLOCK, to->lkey);
  struct ibv_recv_wr wr = receive_request(&entry), *bad;
  must(ibv_post_recv(responder, &wr, &bad) == 0, "ibv_post_recv");
}

static void send_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = request(IBV_WR_SEND, &entry), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  post_receive();
  send_block();
  return show_completion(responder_cq, IBV_WC_LOC_PROT_ERR, target, BLOCK);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A send although the responder has posted no receive.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, IBV_ACCESS_LOCAL_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
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
  if (IS_HEALTHY) post_receive();
  send_block();
  return show_completion(requester_cq, IBV_WC_RNR_RETRY_EXC_ERR, target, BLOCK);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requester of a message that is longer than the receive at the other end.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BUFFER, 0);
  to = ibv_reg_mr(domain, target, BUFFER, IBV_ACCESS_LOCAL_WRITE);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static void post_receive(void) {
  struct ibv_sge entry = piece(target, 2 * BLOCK, to->lkey);
  struct ibv_recv_wr wr = receive_request(&entry), *bad;
  must(ibv_post_recv(responder, &wr, &bad) == 0, "ibv_post_recv");
}

static void send_block(void) {
  struct ibv_sge entry = piece(source, WRONG_OR_RIGHT(3 * BLOCK, 2 * BLOCK), from->lkey);
  struct ibv_send_wr wr = request(IBV_WR_SEND, &entry), *bad;
  fact("bytes", entry.length);
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  post_receive();
  send_block();
  return show_completion(requester_cq, IBV_WC_REM_INV_REQ_ERR, target, 2 * BLOCK);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// More receives than the receive queue has room for.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static int post_receive(void) {
  struct ibv_sge entry = piece(target, BLOCK, to->lkey);
  struct ibv_recv_wr wr = receive_request(&entry), *bad;
  return ibv_post_recv(responder, &wr, &bad);
}

static int post_receives(int count) {
  int error = 0;
  for (int i = 0; i < count && error == 0; ++i) error = post_receive();
  return error;
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  return show_error(post_receives(WRONG_OR_RIGHT(4000, 16)), ENOMEM, writes_block());
}

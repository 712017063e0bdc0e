// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A write from memory that the program has not registered, with the lkey of another buffer.
#include "rig.h"

static unsigned char forgotten[BLOCK];
static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("lkey", from->lkey);
}

static void write_block(const unsigned char* buffer) {
  struct ibv_sge entry = piece(buffer, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  fact("address", entry.addr);
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  write_block(IS_HEALTHY ? source : forgotten);
  return show_completion(requester_cq, IBV_WC_LOC_PROT_ERR, target, BLOCK);
}

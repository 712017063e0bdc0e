// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A write from a region whose protection domain is not that of the requester.
#include "rig.h"

static struct ibv_pd* other_domain;
static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  other_domain = ibv_alloc_pd(device);
  must(other_domain != NULL, "ibv_alloc_pd");
  from = ibv_reg_mr(WRONG_OR_RIGHT(other_domain, domain), source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("lkey", from->lkey);
}

static void write_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  write_block();
  return show_completion(requester_cq, IBV_WC_LOC_PROT_ERR, target, BLOCK);
}

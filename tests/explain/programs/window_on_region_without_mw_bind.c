// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A memory window is bound to a region without IBV_ACCESS_MW_BIND.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK,
                  WRONG_OR_RIGHT(ALL_RIGHTS, ALL_RIGHTS | IBV_ACCESS_MW_BIND));
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("lkey", to->lkey);
}

static struct ibv_mw* window;

static void bind_window(void) {
  window = ibv_alloc_mw(domain, IBV_MW_TYPE_1);
  must(window != NULL, "ibv_alloc_mw");
  struct ibv_mw_bind how = {.send_flags = IBV_SEND_SIGNALED,
                            .bind_info = {to, (uintptr_t)target, BLOCK, IBV_ACCESS_REMOTE_WRITE}};
  must(ibv_bind_mw(responder, window, &how) == 0, "ibv_bind_mw");
}

static void write_block(void) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, window->rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  bind_window();
  const struct ibv_wc bound = completion_of(responder_cq);
  if (!IS_HEALTHY) return show_status(bound, IBV_WC_MW_BIND_ERR, 0);
  write_block();
  return show_completion(requester_cq, IBV_WC_MW_BIND_ERR, target, BLOCK);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A write by a window of type 2 that its owner has invalidated.
#include "rig.h"

static struct ibv_mr *from, *to;
static struct ibv_mw* window;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static uint32_t bind_window(void) {
  window = ibv_alloc_mw(domain, IBV_MW_TYPE_2);
  must(window != NULL, "ibv_alloc_mw");
  struct ibv_send_wr wr = request(IBV_WR_BIND_MW, NULL), *bad;
  wr.num_sge = 0;
  wr.bind_mw.mw = window;
  wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  wr.bind_mw.bind_info =
      (struct ibv_mw_bind_info){to, (uintptr_t)target, BLOCK, IBV_ACCESS_REMOTE_WRITE};
  must(ibv_post_send(responder, &wr, &bad) == 0, "ibv_post_send");
  must(completion_of(responder_cq).status == IBV_WC_SUCCESS, "the binding");
  fact("rkey", wr.bind_mw.rkey);
  return wr.bind_mw.rkey;
}

static void invalidate_window(uint32_t rkey) {
  struct ibv_send_wr wr = request(IBV_WR_LOCAL_INV, NULL), *bad;
  wr.num_sge = 0;
  wr.invalidate_rkey = rkey;
  must(ibv_post_send(responder, &wr, &bad) == 0, "ibv_post_send");
  must(completion_of(responder_cq).status == IBV_WC_SUCCESS, "the invalidation");
}

static void write_block(uint32_t rkey) {
  struct ibv_sge entry = piece(source, BLOCK, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, rkey), *bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  const uint32_t rkey = bind_window();
  if (!IS_HEALTHY) invalidate_window(rkey);
  write_block(rkey);
  return show_completion(requester_cq, IBV_WC_REM_ACCESS_ERR, target, BLOCK);
}

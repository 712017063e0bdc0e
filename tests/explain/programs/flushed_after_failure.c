// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A request is flushed because an earlier request of the queue pair has failed.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
  fact("rkey", to->rkey);
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
  write_block(WRONG_OR_RIGHT(to->rkey + 0x4200, to->rkey));
  write_block(to->rkey);
  must(completion_of(requester_cq).status == WRONG_OR_RIGHT(IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS),
       "the status of the first write");
  return show_completion(requester_cq, IBV_WC_WR_FLUSH_ERR, target, BLOCK);
}

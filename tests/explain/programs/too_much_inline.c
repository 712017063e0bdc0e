// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A request with more inline data than the queue pair was created for.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BUFFER, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static int write_inline(uint32_t bytes) {
  struct ibv_sge entry = piece(source, bytes, 0);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, &entry, target, to->rkey), *bad;
  wr.send_flags |= IBV_SEND_INLINE;
  fact("bytes", bytes);
  return ibv_post_send(requester, &wr, &bad);
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  const int error = write_inline(WRONG_OR_RIGHT(800, 64));
  if (error == 0) completion_of(requester_cq);
  return show_error(error, ENOMEM, memcmp(source, target, 64) == 0);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A request with more entries than the queue pair was created for.
#include "rig.h"

static struct ibv_mr *from, *to;

static void setup_buffers(void) {
  from = ibv_reg_mr(domain, source, BLOCK, 0);
  to = ibv_reg_mr(domain, target, BLOCK, ALL_RIGHTS);
  must(from != NULL && to != NULL, "ibv_reg_mr");
}

static int write_pieces(int count) {
  struct ibv_sge entries[33];
  for (int i = 0; i < count; ++i) entries[i] = piece(source + 4 * i, 4, from->lkey);
  struct ibv_send_wr wr = remote_request(IBV_WR_RDMA_WRITE, entries, target, to->rkey), *bad;
  wr.num_sge = count;
  fact("entries", (unsigned)count);
  return ibv_post_send(requester, &wr, &bad);
}

int main(void) {
  open_rig();
  setup_buffers();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  const int error = write_pieces(WRONG_OR_RIGHT(33, 2));
  if (error == 0) completion_of(requester_cq);
  return show_error(error, ENOMEM, memcmp(source, target, 8) == 0);
}

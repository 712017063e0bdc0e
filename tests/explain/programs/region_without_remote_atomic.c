// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A fetch-and-add in a region without IBV_ACCESS_REMOTE_ATOMIC.
#include "rig.h"

static uint64_t counters[2] = {37}, before;
static struct ibv_mr *result, *shared;

static void setup_counter(void) {
  result = ibv_reg_mr(domain, &before, sizeof before, IBV_ACCESS_LOCAL_WRITE);
  shared = ibv_reg_mr(domain, counters, sizeof counters,
                      WRONG_OR_RIGHT(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, ALL_RIGHTS));
  must(result != NULL && shared != NULL, "ibv_reg_mr");
  fact("rkey", shared->rkey);
}

static void add_to_counter(void) {
  struct ibv_sge entry = piece(&before, sizeof before, result->lkey);
  const unsigned char* at = (unsigned char*)counters;
  struct ibv_send_wr wr = remote_request(IBV_WR_ATOMIC_FETCH_AND_ADD, &entry, at, shared->rkey);
  struct ibv_send_wr* bad;
  must(ibv_post_send(requester, &wr, &bad) == 0, "ibv_post_send");
}

int main(void) {
  open_rig();
  setup_counter();
  create_queue_pairs(IBV_QPT_RC);
  connect_queue_pairs();
  add_to_counter();
  const struct ibv_wc done = completion_of(requester_cq);
  return show_status(done, IBV_WC_REM_ACCESS_ERR, before == 37 && counters[0] == 42);
}

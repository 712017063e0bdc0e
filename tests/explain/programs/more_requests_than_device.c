// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A queue pair for more requests than the device permits.
#include "rig.h"

static int create_requester(void) {
  struct ibv_device_attr limits;
  must(ibv_query_device(device, &limits) == 0, "ibv_query_device");
  must(ibv_destroy_qp(requester) == 0, "ibv_destroy_qp");
  struct ibv_qp_init_attr plan = queue_pair_plan(IBV_QPT_RC, requester_cq);
  if (!IS_HEALTHY) plan.cap.max_send_wr = 4 * (uint32_t)limits.max_qp_wr;
  fact("found", plan.cap.max_send_wr);
  fact("wanted", (unsigned)limits.max_qp_wr);
  requester = ibv_create_qp(domain, &plan);
  return requester == NULL ? errno : 0;
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_RC);
  const int error = create_requester();
  if (error == 0) connect_queue_pairs();
  return show_error(error, EINVAL, error == 0 && writes_block());
}

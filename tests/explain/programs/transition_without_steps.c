// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A transition from RESET to RTS without INIT and RTR.
#include "rig.h"

static int connect_at_once(void) {
  struct ibv_qp_attr how = attributes_towards(responder);
  if (IS_HEALTHY) bring_up(requester, how, IBV_QPS_RTR);
  how.qp_state = IBV_QPS_RTS;
  return ibv_modify_qp(requester, &how, needed_attributes(IBV_QPT_RC, IBV_QPS_RTS));
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_RC);
  bring_up(responder, attributes_towards(requester), IBV_QPS_RTS);
  const int error = connect_at_once();
  return show_error(error, EINVAL, error == 0 && writes_block());
}

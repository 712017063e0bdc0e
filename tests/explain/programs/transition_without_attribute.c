// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A transition to RTR whose mask lacks IBV_QP_MIN_RNR_TIMER.
#include "rig.h"

static int move_to_rtr(void) {
  struct ibv_qp_attr how = attributes_towards(requester);
  bring_up(responder, how, IBV_QPS_INIT);
  int mask = needed_attributes(IBV_QPT_RC, IBV_QPS_RTR);
  if (!IS_HEALTHY) mask &= ~IBV_QP_MIN_RNR_TIMER;
  how.qp_state = IBV_QPS_RTR;
  return ibv_modify_qp(responder, &how, mask);
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_RC);
  bring_up(requester, attributes_towards(responder), IBV_QPS_RTS);
  const int error = move_to_rtr();
  return show_error(error, EINVAL, error == 0 && writes_block());
}

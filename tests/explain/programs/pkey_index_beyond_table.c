// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A P_Key index that the P_Key table of the port does not have.
#include "rig.h"

static int move_to_init(void) {
  struct ibv_qp_attr how = attributes_towards(responder);
  how.pkey_index = WRONG_OR_RIGHT(0x7abc, 0);
  how.qp_state = IBV_QPS_INIT;
  fact("index", how.pkey_index);
  return ibv_modify_qp(requester, &how, needed_attributes(IBV_QPT_RC, IBV_QPS_INIT));
}

static void finish_connection(void) {
  struct ibv_qp_attr how = attributes_towards(responder);
  bring_up(responder, attributes_towards(requester), IBV_QPS_RTS);
  how.qp_state = IBV_QPS_RTR;
  must(ibv_modify_qp(requester, &how, needed_attributes(IBV_QPT_RC, IBV_QPS_RTR)) == 0, "to RTR");
  how.qp_state = IBV_QPS_RTS;
  must(ibv_modify_qp(requester, &how, needed_attributes(IBV_QPT_RC, IBV_QPS_RTS)) == 0, "to RTS");
}

int main(void) {
  open_rig();
  create_queue_pairs(IBV_QPT_RC);
  const int error = move_to_init();
  if (error == 0) finish_connection();
  return show_error(error, EINVAL, error == 0 && writes_block());
}

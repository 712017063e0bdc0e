// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the measurements through libibverbs share.
#pragma once

#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>

namespace freehca::bench {

/// Moves an RC queue pair to RTS. It is its own peer: RTR and RTS need no other.
inline void connect_to_itself(ibv_qp* q, const ibv_port_attr& port) {
  const auto move = [q](ibv_qp_attr& a, int mask, const char* what) {
    if (ibv_modify_qp(q, &a, IBV_QP_STATE | mask) == 0) return;
    std::perror(what);
    std::exit(EXIT_FAILURE);
  };
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  move(init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "to INIT");
  ibv_qp_attr rtr{};
  rtr.qp_state = IBV_QPS_RTR;
  rtr.path_mtu = port.active_mtu;
  rtr.dest_qp_num = q->qp_num;
  rtr.max_dest_rd_atomic = 1;
  rtr.ah_attr.dlid = port.lid;
  rtr.ah_attr.port_num = 1;
  move(rtr,
       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
           IBV_QP_MIN_RNR_TIMER,
       "to RTR");
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.timeout = 14;
  rts.retry_cnt = 7;
  rts.rnr_retry = 7;
  rts.max_rd_atomic = 1;
  move(rts,
       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC,
       "to RTS");
}

}  // namespace freehca::bench

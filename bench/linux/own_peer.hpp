// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the programs share that measure or test through libibverbs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace freehca::bench {

/// The device of that name, or the first that there is; ends the program when there is none.
inline ibv_context* open_device(const char* name = nullptr) {
  ibv_device** const all = ibv_get_device_list(nullptr);
  ibv_context* opened = nullptr;
  for (int i = 0; all != nullptr && all[i] != nullptr && opened == nullptr; ++i)
    if (name == nullptr || std::strcmp(ibv_get_device_name(all[i]), name) == 0)
      opened = ibv_open_device(all[i]);
  if (all != nullptr) ibv_free_device_list(all);
  if (opened != nullptr) return opened;
  std::perror(name != nullptr ? name : "no RDMA device");
  std::exit(EXIT_FAILURE);
}

/// Moves an RC queue pair to RTS, with a queue pair of the same port as its peer. RoCE names the
/// port by its GID with that index.
inline void connect(ibv_qp* q, const ibv_port_attr& port, std::uint32_t peer,
                    std::uint8_t gid_index = 0) {
  const auto move = [q](ibv_qp_attr& a, int mask, const char* what) {
    if (ibv_modify_qp(q, &a, IBV_QP_STATE | mask) == 0) return;
    std::perror(what);
    std::exit(EXIT_FAILURE);
  };
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qp_access_flags =
      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  move(init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "to INIT");
  ibv_qp_attr rtr{};
  rtr.qp_state = IBV_QPS_RTR;
  rtr.path_mtu = port.active_mtu;
  rtr.dest_qp_num = peer;
  rtr.max_dest_rd_atomic = 1;
  rtr.ah_attr.dlid = port.lid;
  rtr.ah_attr.port_num = 1;
  if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    rtr.ah_attr.is_global = 1;
    rtr.ah_attr.grh.sgid_index = gid_index;
    rtr.ah_attr.grh.hop_limit = 1;
    if (ibv_query_gid(q->context, 1, gid_index, &rtr.ah_attr.grh.dgid) != 0) {
      std::perror("ibv_query_gid");
      std::exit(EXIT_FAILURE);
    }
  }
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

/// The same, its own peer: RTR and RTS need no other.
inline void connect_to_itself(ibv_qp* q, const ibv_port_attr& port) {
  connect(q, port, q->qp_num);
}

}  // namespace freehca::bench

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

namespace programs {

/// What is wrong with the request or with the memory that it names.
enum class fault {
  none,
  remote_key,        // a bit of the key is another one
  region_right,      // the region does not have the right that the request needs
  pair_right,        // the target's queue pair does not have it
  other_domain,      // the region belongs to another protection domain
  deregistered,      // the region existed once
  past_end,          // the last byte is behind the region's end
  alignment,         // of an atomic
  local_key,         // of the requester's memory
  no_local_write,    // the answer goes to memory that is registered without LOCAL_WRITE
  long_message,      // one byte longer than the receive
  receive_key,       // of the target's receive
  no_receive,        // none is posted; no retry
  no_receive_retry,  // none is posted; one retry
  queue_key,         // of a datagram
  over_mtu,          // a datagram
};

/// How the request and its two queue pairs end.
struct outcome {
  ibv_wc_status request = IBV_WC_SUCCESS;
  ibv_qp_state requester = IBV_QPS_RTS;
  ibv_qp_state target = IBV_QPS_RTS;
  /// IBV_WC_SUCCESS: the receive is still there for the next message.
  ibv_wc_status receive = IBV_WC_SUCCESS;
  /// The asynchronous event at the target; -1: none.
  int event = -1;
};

struct twin {
  std::string name;
  ibv_qp_type type;
  ibv_wr_opcode opcode;
  fault wrong;
  outcome ends;
};

/// All twins of each kind of request, the positive case first.
std::vector<twin> twins();

inline bool is_atomic(ibv_wr_opcode o) {
  return o == IBV_WR_ATOMIC_CMP_AND_SWP || o == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
inline bool is_send(ibv_wr_opcode o) {
  return o == IBV_WR_SEND || o == IBV_WR_SEND_WITH_IMM;
}
inline bool is_write(ibv_wr_opcode o) {
  return o == IBV_WR_RDMA_WRITE || o == IBV_WR_RDMA_WRITE_WITH_IMM;
}
inline bool takes_receive(ibv_wr_opcode o) {
  return is_send(o) || o == IBV_WR_RDMA_WRITE_WITH_IMM;
}
/// The right at the target that the request needs.
inline unsigned right_for(ibv_wr_opcode o) {
  if (is_atomic(o)) return IBV_ACCESS_REMOTE_ATOMIC;
  if (is_write(o)) return IBV_ACCESS_REMOTE_WRITE;
  return o == IBV_WR_RDMA_READ ? static_cast<unsigned>(IBV_ACCESS_REMOTE_READ) : 0u;
}

}  // namespace programs

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests of an extended reliable connection (XRC): those of a reliable connection, which also
// name a shared receive queue of the peer.
#pragma once

#include <cstdint>

#include <freehca/queues/requests.hpp>

namespace freehca::queues {

/// A request of a reliable connection that reaches the peer, from the initiator of an extended one:
/// xrc<send>{{.wr_id = 1, .data = entry}, srqn}. Each request names a shared receive queue, because
/// the domain of this queue gives the right to the memory. Source of the field: rdma-core
/// providers/mlx4/qp.c (mlx4_post_send, MLX4_REMOTE_SRQN_FLAGS).
template <class Request>
struct xrc : Request {
  std::uint32_t remote_srqn = 0;  ///< 24 bits
};

}  // namespace freehca::queues

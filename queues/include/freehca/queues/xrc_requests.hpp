// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests of an extended reliable connection (XRC): those of a reliable one, and the shared
// receive queue of the peer that is meant.
#pragma once

#include <cstdint>

#include <freehca/queues/requests.hpp>

namespace freehca::queues {

/// Any request of a reliable connection that reaches the peer, by the initiator of an extended one:
/// xrc<send>{{.wr_id = 1, .data = entry}, srqn}. Every one names a shared receive queue, for its
/// domain is what gives the right to the memory. Source of the field: rdma-core
/// providers/mlx4/qp.c (mlx4_post_send, MLX4_REMOTE_SRQN_FLAGS).
template <class Request>
struct xrc : Request {
  std::uint32_t remote_srqn = 0;  ///< 24 bits
};

}  // namespace freehca::queues

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <infiniband/verbs.h>

namespace freehca::ibverbs {

/// Whether the queue pair may go from one state to the other, and whether the mask has all the
/// attributes that the transition needs and none that it must not have.
bool is_transition(ibv_qp_state from, ibv_qp_state to, ibv_qp_type type, int mask);

}  // namespace freehca::ibverbs

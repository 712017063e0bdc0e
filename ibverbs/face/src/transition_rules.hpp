// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <infiniband/verbs.h>

#include <string>

namespace freehca::ibverbs {

/// The mask without the attributes that Linux ignores: those of a responder for an initiator of
/// XRC, and those of a requester for a target (6.1 drivers/infiniband/core/uverbs_cmd.c
/// modify_qp_mask). Programs that treat XRC as RC give them.
int without_ignored(ibv_qp_type type, int mask);

/// Whether the queue pair may go from one state to the other, and whether the mask has all the
/// attributes that the transition needs and none that it must not have.
bool is_transition(ibv_qp_state from, ibv_qp_state to, ibv_qp_type type, int mask);

/// Why it is none, for messages: "the mask lacks IBV_QP_SQ_PSN".
std::string explain_transition(ibv_qp_state from, ibv_qp_state to, ibv_qp_type type, int mask);

}  // namespace freehca::ibverbs

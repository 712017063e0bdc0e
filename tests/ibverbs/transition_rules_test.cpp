// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transition_rules.hpp"

#include <gtest/gtest.h>

namespace {

using namespace freehca::ibverbs;

constexpr int connects = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int sends = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                      IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

bool goes(ibv_qp_state from, ibv_qp_state to, ibv_qp_type type, int mask) {
  return is_transition(from, to, type, without_ignored(type, mask));
}

// perftest connects each kind with the attributes of RC.
TEST(transition_rules, both_kinds_of_xrc_connect_with_the_attributes_of_rc) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    EXPECT_TRUE(goes(IBV_QPS_INIT, IBV_QPS_RTR, type, connects)) << type;
    EXPECT_TRUE(goes(IBV_QPS_RTR, IBV_QPS_RTS, type, sends)) << type;
  }
}

TEST(transition_rules, other_attributes_are_not_ignored) {
  EXPECT_FALSE(goes(IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_UC, connects));
  EXPECT_FALSE(goes(IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_UC, sends));
  EXPECT_FALSE(goes(IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPT_XRC_SEND, connects | IBV_QP_QKEY));
  EXPECT_FALSE(goes(IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPT_XRC_RECV, sends & ~IBV_QP_TIMEOUT));
}

}  // namespace

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The attributes of each transition: IBTA specification vol. 1, 11.2.5.2, table 96 (as Linux has
// it: 6.1 drivers/infiniband/core/verbs.c qp_state_table).
#include "transition_rules.hpp"

#include <algorithm>
#include <iterator>

namespace freehca::ibverbs {

namespace {

struct rule {
  ibv_qp_state from, to;
  /// Of RC, UC, UD, initiators and targets of XRC, raw packets.
  int required[6], optional[6];
};

constexpr int path = IBV_QP_ALT_PATH, access = IBV_QP_ACCESS_FLAGS, key = IBV_QP_PKEY_INDEX,
              qkey = IBV_QP_QKEY, migration = IBV_QP_PATH_MIG_STATE, port = IBV_QP_PORT,
              current = IBV_QP_CUR_STATE, rnr_timer = IBV_QP_MIN_RNR_TIMER;
constexpr int connects = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

constexpr rule rules[] = {
    {IBV_QPS_RESET,
     IBV_QPS_INIT,
     {key | port | access, key | port | access, key | port | qkey, key | port | access,
      key | port | access, port},
     {}},
    {IBV_QPS_INIT,
     IBV_QPS_INIT,
     {},
     {key | port | access, key | port | access, key | port | qkey, key | port | access,
      key | port | access}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {connects | IBV_QP_MAX_DEST_RD_ATOMIC | rnr_timer, connects, 0, connects,
      connects | IBV_QP_MAX_DEST_RD_ATOMIC | rnr_timer},
     {path | access | key, path | access | key, key | qkey, path | access | key,
      path | access | key}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
          IBV_QP_MAX_QP_RD_ATOMIC,
      IBV_QP_SQ_PSN, IBV_QP_SQ_PSN,
      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
          IBV_QP_MAX_QP_RD_ATOMIC,
      IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
     {current | path | access | rnr_timer | migration, current | path | access | migration,
      current | qkey, current | path | access | migration,
      current | path | access | rnr_timer | migration}},
    {IBV_QPS_RTS,
     IBV_QPS_RTS,
     {},
     {current | access | path | migration | rnr_timer, current | access | path | migration,
      current | qkey, current | access | path | migration,
      current | access | path | migration | rnr_timer}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {},
     {IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY,
      IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {IBV_QPS_SQD,
     IBV_QPS_RTS,
     {},
     {current | path | access | rnr_timer | migration, current | path | access | migration,
      current | qkey, current | path | access | migration,
      current | path | access | rnr_timer | migration}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {},
     {port | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
          IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | path | access | key | rnr_timer |
          migration,
      IBV_QP_AV | path | access | key | migration, key | qkey,
      port | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
          IBV_QP_MAX_QP_RD_ATOMIC | path | access | key | migration,
      port | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_MAX_DEST_RD_ATOMIC | path | access | key |
          rnr_timer | migration}},
    {IBV_QPS_SQE, IBV_QPS_RTS, {}, {0, current | access, current | qkey}},
};

unsigned column_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return 0;
    case IBV_QPT_UC:
      return 1;
    case IBV_QPT_XRC_SEND:
      return 3;
    case IBV_QPT_XRC_RECV:
      return 4;
    case IBV_QPT_RAW_PACKET:
      return 5;
    default:
      return 2;
  }
}

const rule* rule_of(ibv_qp_state from, ibv_qp_state to) {
  const auto found = std::find_if(std::begin(rules), std::end(rules), [from, to](const rule& r) {
    return r.from == from && r.to == to;
  });
  return found != std::end(rules) ? found : nullptr;
}

std::string names_of(int mask) {
  // In the order of the bits of ibv_qp_attr_mask.
  constexpr const char* names[]{"STATE",
                                "CUR_STATE",
                                "EN_SQD_ASYNC_NOTIFY",
                                "ACCESS_FLAGS",
                                "PKEY_INDEX",
                                "PORT",
                                "QKEY",
                                "AV",
                                "PATH_MTU",
                                "TIMEOUT",
                                "RETRY_CNT",
                                "RNR_RETRY",
                                "RQ_PSN",
                                "MAX_QP_RD_ATOMIC",
                                "ALT_PATH",
                                "MIN_RNR_TIMER",
                                "SQ_PSN",
                                "MAX_DEST_RD_ATOMIC",
                                "PATH_MIG_STATE",
                                "CAP",
                                "DEST_QPN"};
  static_assert(1 << (std::size(names) - 1) == IBV_QP_DEST_QPN);
  std::string all;
  for (std::size_t i = 0; i < std::size(names); ++i)
    if ((mask >> i & 1) != 0) all += std::string(" IBV_QP_") + names[i];
  return all;
}

}  // namespace

int without_ignored(ibv_qp_type type, int mask) {
  if (type == IBV_QPT_XRC_SEND) return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (type == IBV_QPT_XRC_RECV)
    return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
  return mask;
}

bool is_transition(ibv_qp_state from, ibv_qp_state to, ibv_qp_type type, int mask) {
  const int given = mask & ~IBV_QP_STATE;
  // From every state, and with nothing else.
  if (to == IBV_QPS_RESET) return given == 0 || given == IBV_QP_CUR_STATE;
  if (to == IBV_QPS_ERR) return from != IBV_QPS_RESET && (given == 0 || given == IBV_QP_CUR_STATE);
  const unsigned column = column_of(type);
  const rule* const r = rule_of(from, to);
  if (r == nullptr) return false;
  const int needs = r->required[column];
  return (given & needs) == needs && (given & ~(needs | r->optional[column])) == 0;
}

std::string explain_transition(ibv_qp_state from, ibv_qp_state to, ibv_qp_type type, int mask) {
  const rule* const r = rule_of(from, to);
  const bool by_rule = to != IBV_QPS_RESET && to != IBV_QPS_ERR;
  if (by_rule && r == nullptr) return "there is no such transition";
  const int given = mask & ~IBV_QP_STATE;
  const int needs = by_rule ? r->required[column_of(type)] : 0;
  const int may = by_rule ? needs | r->optional[column_of(type)] : IBV_QP_CUR_STATE;
  std::string text;
  if ((needs & ~given) != 0) text = "the mask lacks" + names_of(needs & ~given);
  if ((given & ~may) != 0)
    text += (text.empty() ? "" : "; ") + ("it must not have" + names_of(given & ~may));
  return text;
}

}  // namespace freehca::ibverbs

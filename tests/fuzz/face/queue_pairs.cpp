// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>

#include "../check.hpp"
#include "program.hpp"

namespace freehca::fuzz {

namespace {

constexpr std::size_t most_pairs = 6;
constexpr std::uint32_t qkey = 0x1234;
constexpr int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
              to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
              to_rtr_rc = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
              to_rts = IBV_QP_STATE | IBV_QP_SQ_PSN,
              to_rts_rc =
                  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

/// The attributes of a queue pair that talks to `remote` on this port.
ibv_qp_attr attributes(std::uint16_t lid, std::uint32_t remote) {
  ibv_qp_attr a{};
  a.port_num = 1;
  a.qkey = qkey;
  a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = remote;
  a.max_dest_rd_atomic = a.max_rd_atomic = 4;
  a.min_rnr_timer = 1;
  a.ah_attr.dlid = lid;
  a.ah_attr.port_num = 1;
  a.timeout = 8;
  a.retry_cnt = a.rnr_retry = 1;
  return a;
}

int mask_of(ibv_qp_state to, ibv_qp_type type) {
  const bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;
  switch (to) {
    case IBV_QPS_INIT:
      return to_init | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
      return ud ? IBV_QP_STATE : to_rtr | (rc ? to_rtr_rc : 0);
    case IBV_QPS_RTS:
      return to_rts | (rc ? to_rts_rc : 0);
    default:
      return IBV_QP_STATE;
  }
}

}  // namespace

ibv_qp_init_attr program::pair_attributes(input& from) {
  const unsigned how = from.byte();
  ibv_qp_init_attr a{};
  a.send_cq = pick(cqs_, from).cq;
  a.recv_cq = how % 2 == 0 ? a.send_cq : pick(cqs_, from).cq;
  if (how % 4 == 3 && !srqs_.empty()) a.srq = pick(srqs_, from);
  a.qp_type = how < 0xf0 ? static_cast<ibv_qp_type>(IBV_QPT_RC + how / 4 % 3)
                         : static_cast<ibv_qp_type>(from.byte());
  a.sq_sig_all = how / 16 % 2;
  a.cap = how < 0x80
              ? ibv_qp_cap{8, 8, 2, 2, 64}
              : ibv_qp_cap{amount(from), amount(from), amount(from), amount(from), amount(from)};
  if (how == 0xef) a.recv_cq = nullptr;
  return a;
}

void program::keep(ibv_qp* made) {
  if (made == nullptr) return;
  pairs_.push_back({made, ibv_qp_to_qp_ex(made)});
}

void program::create_pair(input& from) {
  if (pds_.empty() || cqs_.empty() || pairs_.size() == most_pairs) return;
  ibv_pd* const pd = pick(pds_, from);
  ibv_qp_init_attr how = pair_attributes(from);
  keep(ibv_create_qp(pd, &how));
}

void program::create_extended_pair(input& from) {
  if (pds_.empty() || cqs_.empty() || pairs_.size() == most_pairs) return;
  ibv_pd* const pd = pick(pds_, from);
  const ibv_qp_init_attr plain = pair_attributes(from);
  const unsigned how = from.byte();
  ibv_qp_init_attr_ex a = how < 0xe0 ? ibv_qp_init_attr_ex{} : any<ibv_qp_init_attr_ex>(from);
  a.send_cq = plain.send_cq;
  a.recv_cq = plain.recv_cq;
  a.srq = plain.srq;
  a.cap = plain.cap;
  a.qp_type = plain.qp_type;
  a.sq_sig_all = plain.sq_sig_all;
  a.pd = pd;
  if (how < 0xe0) {
    a.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    a.send_ops_flags = how < 0xc0 ? unsigned{IBV_QP_EX_WITH_SEND} : from.word();
  }
  keep(ibv_create_qp_ex(device_.contexts[how % 2], &a));
}

/// To the next state on the way to RTS.
void program::move_on(ibv_qp* qp, std::uint32_t remote) {
  ibv_qp_attr a = attributes(device_.lid, remote);
  a.qp_state = qp->state == IBV_QPS_RESET  ? IBV_QPS_INIT
               : qp->state == IBV_QPS_INIT ? IBV_QPS_RTR
               : qp->state == IBV_QPS_RTR  ? IBV_QPS_RTS
                                           : IBV_QPS_RESET;
  ibv_modify_qp(qp, &a, mask_of(a.qp_state, qp->qp_type));
}

void program::connect(ibv_qp* a, ibv_qp* b) {
  for (ibv_qp* const qp : {a, b}) {
    for (unsigned i = 0; i < 3; ++i) move_on(qp, qp == a ? b->qp_num : a->qp_num);
    check(qp->state == IBV_QPS_RTS, "a queue pair cannot be connected");
  }
}

void program::modify(input& from) {
  if (pairs_.empty()) return;
  ibv_qp* const qp = pick(pairs_, from).qp;
  move_on(qp, pick(pairs_, from).qp->qp_num);
}

void program::modify_at_random(input& from) {
  if (pairs_.empty()) return;
  ibv_qp* const qp = pick(pairs_, from).qp;
  const unsigned how = from.byte();
  ibv_qp_attr a = attributes(device_.lid, pick(pairs_, from).qp->qp_num);
  a.qp_state = static_cast<ibv_qp_state>(how % 8);
  a.cur_qp_state = qp->state;
  // A port that is not there: every request ends by its retries.
  a.ah_attr.dlid = static_cast<std::uint16_t>(device_.lid + how / 128);
  int mask = mask_of(a.qp_state, qp->qp_type);
  if (how / 8 % 2 != 0) {
    const auto random = any<ibv_qp_attr>(from);
    if (how / 16 % 2 != 0) {
      a.path_mtu = random.path_mtu;
      a.dest_qp_num = random.dest_qp_num;
      a.rq_psn = random.rq_psn;
      a.sq_psn = random.sq_psn;
      a.qkey = random.qkey;
    } else {
      const auto state = a.qp_state;
      a = random;
      a.qp_state = how / 32 % 2 != 0 ? random.qp_state : state;
      a.cur_qp_state = how / 64 % 2 != 0 ? random.cur_qp_state : qp->state;
    }
  }
  if (how >= 0xc0) mask ^= 1 << from.byte() % 26;
  if (how >= 0xf0) mask = static_cast<int>(from.word());
  ibv_modify_qp(qp, &a, mask);
}

/// Two queue pairs of two domains and two opens of the device, which are connected with each other.
void program::begin_with_pairs(input& from, ibv_qp_type type, bool shared) {
  for (ibv_context* const context : device_.contexts) {
    ibv_comp_channel* const channel = channels_.empty() ? nullptr : channels_[0];
    ibv_cq* const cq = ibv_create_cq(context, 32, nullptr, channel, 0);
    check(cq != nullptr, "a CQ cannot be made");
    cqs_.push_back({cq, 0});
    if (channel != nullptr) ibv_req_notify_cq(cq, 0);
    ibv_pd* const pd = pds_[pairs_.size()];
    ibv_srq_init_attr queue{nullptr, {8, 2, 0}};
    if (shared && srqs_.empty()) srqs_.push_back(ibv_create_srq(pd, &queue));
    ibv_qp_init_attr_ex a{};
    a.send_cq = a.recv_cq = cq;
    if (shared) a.srq = srqs_[0];
    a.cap = {8, 8, 2, 2, 64};
    a.qp_type = type;
    a.sq_sig_all = from.byte() % 2;
    a.pd = pd;
    a.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    a.send_ops_flags = IBV_QP_EX_WITH_SEND;
    keep(ibv_create_qp_ex(context, &a));
    check(!pairs_.empty() && pairs_.back().builder != nullptr, "a queue pair cannot be made");
    ibv_ah_attr address{};
    address.dlid = device_.lid;
    address.port_num = 1;
    ahs_.push_back(ibv_create_ah(pd, &address));
    check(ahs_.back() != nullptr, "an address handle cannot be made");
  }
  check(pairs_.size() == 2, "a queue pair cannot be made");
  connect(pairs_[0].qp, pairs_[1].qp);
}

}  // namespace freehca::fuzz

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// ibv_modify_qp() and ibv_query_qp().
#include <algorithm>
#include <optional>

#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/layouts/qpc.hpp>

#include "errors.hpp"
#include "objects.hpp"
#include "transition_rules.hpp"

namespace freehca::ibverbs {

namespace {

std::optional<layouts::qp_state> state_of(ibv_qp_state s) {
  switch (s) {
    case IBV_QPS_RESET:
      return layouts::qp_state::reset;
    case IBV_QPS_INIT:
      return layouts::qp_state::init;
    case IBV_QPS_RTR:
      return layouts::qp_state::rtr;
    case IBV_QPS_RTS:
      return layouts::qp_state::rts;
    case IBV_QPS_ERR:
      return layouts::qp_state::error;
    default:
      return {};
  }
}

ibv_qp_state state_of(layouts::qp_state s) {
  switch (s) {
    case layouts::qp_state::reset:
      return IBV_QPS_RESET;
    case layouts::qp_state::init:
      return IBV_QPS_INIT;
    case layouts::qp_state::rtr:
      return IBV_QPS_RTR;
    case layouts::qp_state::rts:
      return IBV_QPS_RTS;
    case layouts::qp_state::sq_draining:
    case layouts::qp_state::sq_drained:
      return IBV_QPS_SQD;
    case layouts::qp_state::sq_error:
      return IBV_QPS_SQE;
    default:
      return IBV_QPS_ERR;
  }
}

/// Takes over the attributes that the mask names.
void take(const ibv_qp_attr& from, int mask, ibv_qp_attr& to) {
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to.qp_access_flags = from.qp_access_flags;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) to.pkey_index = from.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) to.port_num = from.port_num;
  if ((mask & IBV_QP_QKEY) != 0) to.qkey = from.qkey;
  if ((mask & IBV_QP_AV) != 0) to.ah_attr = from.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) to.path_mtu = from.path_mtu;
  if ((mask & IBV_QP_TIMEOUT) != 0) to.timeout = from.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) to.retry_cnt = from.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) to.rnr_retry = from.rnr_retry;
  if ((mask & IBV_QP_RQ_PSN) != 0) to.rq_psn = from.rq_psn;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) to.max_rd_atomic = from.max_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) to.min_rnr_timer = from.min_rnr_timer;
  if ((mask & IBV_QP_SQ_PSN) != 0) to.sq_psn = from.sq_psn;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  if ((mask & IBV_QP_DEST_QPN) != 0) to.dest_qp_num = from.dest_qp_num;
}

connection_attributes connection_of(const ibv_qp_attr& from) {
  connection_attributes to;
  to.pkey_index = from.pkey_index;
  to.remote_read = (from.qp_access_flags & IBV_ACCESS_REMOTE_READ) != 0;
  to.remote_write = (from.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0;
  to.remote_atomic = (from.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) != 0;
  to.qkey = from.qkey;
  to.path_mtu = static_cast<layouts::ib_mtu>(from.path_mtu);
  to.min_rnr_timer = from.min_rnr_timer;
  to.remote_qpn = from.dest_qp_num;
  to.receive_psn = from.rq_psn;
  to.reads_as_responder = from.max_dest_rd_atomic;
  to.address = address_of(from.ah_attr);
  to.address.set_port(from.port_num);
  to.send_psn = from.sq_psn;
  to.reads_as_requester = from.max_rd_atomic;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  to.ack_timeout = from.timeout;
  return to;
}

/// `a` has all attributes of the queue pair, those named by `mask` are new.
bool fits(const ibv_qp_attr& a, int mask, engine& here) {
  if ((mask & (IBV_QP_PORT | IBV_QP_PKEY_INDEX)) != 0 && !here.is_port(a.port_num)) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && a.pkey_index >= here.port(a.port_num).pkeys.size())
    return false;
  const capabilities& can = here.hardware().capabilities();
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && a.max_rd_atomic > can.most_reads_as_requester)
    return false;
  return (mask & IBV_QP_MAX_DEST_RD_ATOMIC) == 0 ||
         a.max_dest_rd_atomic <= can.most_reads_as_responder;
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* how, int mask) {
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (here.dead()) return ENODEV;
  const engine::guard held(here.lock);
  here.poll_events_if_any();
  const ibv_qp_state now = state_of(queue.object->qp_state);
  const ibv_qp_state from = (mask & IBV_QP_CUR_STATE) != 0 ? how->cur_qp_state : now;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? how->qp_state : from;
  if (from != now || !is_transition(from, to, qp->qp_type, mask)) return EINVAL;
  ibv_qp_attr changed = queue.shared->attributes;
  take(*how, mask, changed);
  if (!fits(changed, mask, here)) return EINVAL;
  const std::optional<layouts::qp_state> target = state_of(to);
  // The driver knows no transition from a state to itself but that from RESET, and no SQD.
  if (!target || (from == to && to != IBV_QPS_RESET))
    return refuse("this transition by ibv_modify_qp");
  modify_queue_pair modify;
  if (const int error = here.perform(modify, queue.handle, *target, connection_of(changed));
      error != 0)
    return error;
  queue.shared->attributes = to == IBV_QPS_RESET ? ibv_qp_attr{} : changed;
  qp->state = to;
  return 0;
}

FREEHCA_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* to, int, ibv_qp_init_attr* made_with) {
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (here.dead()) return ENODEV;
  const engine::guard held(here.lock);
  here.poll_events_if_any();
  ibv_qp_attr found = queue.shared->attributes;
  found.qp_state = state_of(queue.object->qp_state);
  if (found.qp_state != IBV_QPS_RESET) {
    using layouts::qpc;
    query_queue_pair query;
    if (const int error = here.perform(query, queue.handle); error != 0) return error;
    const layouts::image<qpc> context = query.context();
    found.qp_state = state_of(context.get<&qpc::state>());
    found.qkey = static_cast<std::uint32_t>(context.get<&qpc::qkey>());
    found.sq_psn = static_cast<std::uint32_t>(context.get<&qpc::next_send_psn>());
    found.rq_psn = static_cast<std::uint32_t>(context.get<&qpc::next_rcv_psn>());
  }
  found.cur_qp_state = qp->state = found.qp_state;
  found.cap = queue.made_with.cap;
  *to = found;
  *made_with = queue.made_with;
  return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// ibv_modify_qp() and ibv_query_qp().
#include <cstring>
#include <optional>

#include <freehca/hca/kinds/queue_pair_changes.hpp>
#include <freehca/layouts/qpc.hpp>

#include "errors.hpp"
#include "gid_tables.hpp"
#include "objects.hpp"
#include "roce_paths.hpp"
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
    case IBV_QPS_SQD:
      return layouts::qp_state::sq_drained;
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
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0) to.path_mig_state = from.path_mig_state;
  if ((mask & IBV_QP_ALT_PATH) != 0) {
    to.alt_ah_attr = from.alt_ah_attr;
    to.alt_pkey_index = from.alt_pkey_index;
    to.alt_port_num = from.alt_port_num;
    to.alt_timeout = from.alt_timeout;
  }
}

layouts::path_migration migration_of(ibv_mig_state s) {
  return s == IBV_MIG_REARM   ? layouts::path_migration::rearm
         : s == IBV_MIG_ARMED ? layouts::path_migration::armed
                              : layouts::path_migration::migrated;
}
ibv_mig_state migration_of(layouts::path_migration s) {
  return s == layouts::path_migration::rearm   ? IBV_MIG_REARM
         : s == layouts::path_migration::armed ? IBV_MIG_ARMED
                                               : IBV_MIG_MIGRATED;
}

/// The attributes that a mask names, as bits of layouts::qp_optpar.
std::uint32_t given_by(int mask, ibv_qp_type type) {
  namespace bits = layouts::qp_optpar;
  const std::uint32_t rights = type == IBV_QPT_UC ? bits::rwe : bits::rre | bits::rwe | bits::rae;
  const struct {
    int mask;
    std::uint32_t given;
  } rows[] = {{IBV_QP_ACCESS_FLAGS, rights},
              {IBV_QP_PKEY_INDEX, bits::pkey_index},
              {IBV_QP_QKEY, bits::qkey},
              {IBV_QP_AV, bits::primary_path},
              {IBV_QP_TIMEOUT, bits::ack_timeout},
              {IBV_QP_RETRY_CNT, bits::retry_count},
              {IBV_QP_RNR_RETRY, bits::rnr_retry},
              {IBV_QP_MAX_QP_RD_ATOMIC, bits::sra_max},
              {IBV_QP_MAX_DEST_RD_ATOMIC, bits::rra_max},
              {IBV_QP_MIN_RNR_TIMER, bits::min_rnr_nak},
              {IBV_QP_ALT_PATH, bits::alternate_path},
              {IBV_QP_PATH_MIG_STATE, bits::pm_state}};
  std::uint32_t given = 0;
  for (const auto& row : rows)
    if ((mask & row.mask) != 0) given |= row.given;
  return given;
}

/// The port of a queue pair, and its path if it is an Ethernet port.
struct route {
  bool on_ethernet, has_frames;
  roce_path path;
};

connection_attributes connection_of(const ibv_qp_attr& from, const route& on) {
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
  if (on.has_frames) to.address = raw_ethernet_path{};
  else if (on.on_ethernet) to.address = on.path;
  else to.address = address_of(from.ah_attr);
  to.address.set_port(from.port_num);
  to.send_psn = from.sq_psn;
  to.reads_as_requester = from.max_rd_atomic;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  to.ack_timeout = from.timeout;
  return to;
}

/// The changes of the attributes that the mask names.
queue_pair_changes changes_of(const ibv_qp_attr& from, const route& on, int mask, ibv_qp_state to,
                              ibv_qp_type type) {
  const connection_attributes same = connection_of(from, on);
  queue_pair_changes c;
  c.given = given_by(mask, type);
  // A port is that of a path. Before RTR the queue pair has none.
  if ((mask & IBV_QP_PORT) != 0)
    c.given |=
        to == IBV_QPS_INIT ? layouts::qp_optpar::sched_queue : layouts::qp_optpar::primary_path;
  c.pkey_index = same.pkey_index;
  c.remote_read = same.remote_read;
  c.remote_write = same.remote_write;
  c.remote_atomic = same.remote_atomic;
  c.min_rnr_timer = same.min_rnr_timer;
  c.qkey = same.qkey;
  c.reads_as_responder = same.reads_as_responder;
  c.reads_as_requester = same.reads_as_requester;
  c.retry_count = same.retry_count;
  c.rnr_retry = same.rnr_retry;
  c.ack_timeout = same.ack_timeout;
  c.migration = migration_of(from.path_mig_state);
  c.path = same.address;
  c.alternate = address_of(from.alt_ah_attr);
  c.alternate.set_port(from.alt_port_num);
  c.alternate_pkey_index = from.alt_pkey_index;
  c.alternate_ack_timeout = from.alt_timeout;
  return c;
}

ibv_ah_attr address_of(const reported_path& from) {
  const infiniband_path& route = from.infiniband;
  ibv_ah_attr to{};
  to.port_num = static_cast<std::uint8_t>(route.port);
  to.dlid = route.dlid;
  to.sl = route.sl;
  to.src_path_bits = route.path_bits;
  to.static_rate = route.static_rate;
  to.is_global = route.global;
  to.grh.sgid_index = route.sgid_index;
  to.grh.hop_limit = route.hop_limit;
  to.grh.traffic_class = route.traffic_class;
  to.grh.flow_label = route.flow_label;
  std::memcpy(to.grh.dgid.raw, route.dgid.raw, sizeof to.grh.dgid.raw);
  return to;
}

/// Takes over what the device reports. In INIT it knows no port, and no path (Linux 6.1
/// hw/mlx4/qp.c mlx4_ib_query_qp).
void take(const queue_pair_report& from, ibv_qp_type type, ibv_qp_attr& to) {
  to.qp_state = state_of(from.state);
  to.sq_draining = from.state == layouts::qp_state::sq_draining;
  to.path_mig_state = migration_of(from.migration);
  to.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
  to.qkey = from.qkey;
  to.rq_psn = from.receive_psn;
  to.sq_psn = from.send_psn;
  to.dest_qp_num = from.remote_qpn;
  to.qp_access_flags = 0;
  if (from.remote_read) to.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
  if (from.remote_write) to.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
  if (from.remote_atomic) to.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
  to.pkey_index = from.primary.pkey_index;
  if (to.qp_state != IBV_QPS_INIT)
    to.port_num = static_cast<std::uint8_t>(from.primary.infiniband.port);
  to.max_rd_atomic = static_cast<std::uint8_t>(from.reads_as_requester);
  to.max_dest_rd_atomic = static_cast<std::uint8_t>(from.reads_as_responder);
  to.min_rnr_timer = from.min_rnr_timer;
  to.timeout = from.primary.ack_timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  if (type == IBV_QPT_UD) return;
  to.ah_attr = address_of(from.primary);
  to.alt_ah_attr = address_of(from.alternate);
  to.alt_pkey_index = from.alternate.pkey_index;
  to.alt_port_num = to.alt_ah_attr.port_num;
  to.alt_timeout = from.alternate.ack_timeout;
}

/// `a` has all attributes of the queue pair, those named by `mask` are new.
bool fits(const ibv_qp_attr& a, int mask, engine& here) {
  if ((mask & (IBV_QP_PORT | IBV_QP_PKEY_INDEX)) != 0 && !here.is_port(a.port_num)) return false;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && a.pkey_index >= here.port(a.port_num).pkeys.size())
    return false;
  if ((mask & IBV_QP_AV) != 0 && a.ah_attr.port_num != a.port_num) return false;
  if ((mask & IBV_QP_ALT_PATH) != 0 &&
      (!here.is_port(a.alt_port_num) || a.alt_pkey_index >= here.port(a.alt_port_num).pkeys.size()))
    return false;
  const capabilities& can = here.hardware().capabilities();
  // These follow the transition to RTS, so they are refused before its command.
  if ((mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)) != 0 &&
      !can.has(layouts::dev_cap_flag::automatic_path_migration))
    return false;
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0 && a.path_mig_state == IBV_MIG_ARMED) return false;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && a.max_rd_atomic > can.most_reads_as_requester)
    return false;
  return (mask & IBV_QP_MAX_DEST_RD_ATOMIC) == 0 ||
         a.max_dest_rd_atomic <= can.most_reads_as_responder;
}

/// The attributes that modify_queue_pair does not write with its transition, but change_queue_pair
/// before or after it.
constexpr int before_rtr = IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
constexpr int after_rts = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_ACCESS_FLAGS |
                          IBV_QP_MIN_RNR_TIMER | IBV_QP_QKEY;

int change(engine& here, pair& queue, const ibv_qp_attr& to, const route& on, int mask,
           ibv_qp_state state, layouts::qp_state target, bool drained_event = false) {
  queue_pair_changes changes = changes_of(to, on, mask, state, queue.made_with.qp_type);
  changes.drained_event = drained_event;
  change_queue_pair op;
  return here.perform(op, queue.handle, target, changes);
}

/// Transitions of modify_queue_pair. An alternate path that the transition to RTR gives is written
/// in RTS.
int connect(engine& here, pair& queue, const ibv_qp_attr& to, const route& on, int mask,
            ibv_qp_state state) {
  if (state == IBV_QPS_RTR && (mask & before_rtr) != 0)
    if (const int error =
            change(here, queue, to, on, mask & before_rtr, IBV_QPS_INIT, layouts::qp_state::init);
        error != 0)
      return error;
  modify_queue_pair modify;
  if (const int error = here.perform(modify, queue.handle, *state_of(state), connection_of(to, on));
      error != 0)
    return error;
  if (state == IBV_QPS_RTR) queue.shared->later = mask & IBV_QP_ALT_PATH;
  if (state != IBV_QPS_RTS) return 0;
  const int after = (mask | queue.shared->later) & after_rts;
  queue.shared->later = 0;
  return after == 0 ? 0 : change(here, queue, to, on, after, state, layouts::qp_state::rts);
}

/// Puts the queue pair before a reason that does not name it.
int because_of_pair(int error, const ibv_qp& qp) {
  return error == 0 || error == EINVAL ? error
                                       : because_of(error, named_kind::queue_pair, qp.qp_num);
}

const char* name_of(ibv_qp_state s) {
  switch (s) {
    case IBV_QPS_RESET:
      return "RESET";
    case IBV_QPS_INIT:
      return "INIT";
    case IBV_QPS_RTR:
      return "RTR";
    case IBV_QPS_RTS:
      return "RTS";
    case IBV_QPS_SQD:
      return "SQD";
    case IBV_QPS_SQE:
      return "SQE";
    case IBV_QPS_ERR:
      return "ERR";
    default:
      return "unknown";
  }
}

/// Returns 0, or an errno.
int modify(ibv_qp* qp, const ibv_qp_attr* how, int mask) {
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (here.dead()) return ENODEV;
  // As rdma-core's ibv_cmd_modify_qp.
  if ((mask & ~(IBV_QP_RATE_LIMIT - 1)) != 0) return EOPNOTSUPP;
  mask = without_ignored(qp->qp_type, mask);
  const engine::guard held(here.lock);
  here.poll_events_if_any();
  if (queue.table != nullptr) return modify_rss(here, queue, *how, mask);
  const ibv_qp_state now = state_of(queue.object->qp_state);
  const ibv_qp_state from = (mask & IBV_QP_CUR_STATE) != 0 ? how->cur_qp_state : now;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? how->qp_state : from;
  if (from != now)
    return because(EINVAL, "QP 0x%06x is in state %s, and not in cur_qp_state %s", qp->qp_num,
                   name_of(now), name_of(from));
  if (!is_transition(from, to, qp->qp_type, mask))
    return because(EINVAL, "QP 0x%06x from %s to %s: %s", qp->qp_num, name_of(from), name_of(to),
                   explain_transition(from, to, qp->qp_type, mask).c_str());
  ibv_qp_attr changed = queue.shared->attributes;
  take(*how, mask, changed);
  if (!fits(changed, mask, here))
    return because(
        EINVAL,
        "QP 0x%06x: an attribute is out of its range, or its port does not have it (port "
        "%u, P_Key index %u, max_rd_atomic %u, max_dest_rd_atomic %u)",
        qp->qp_num, unsigned{changed.port_num}, unsigned{changed.pkey_index},
        unsigned{changed.max_rd_atomic}, unsigned{changed.max_dest_rd_atomic});
  // The queue may have drained without an event.
  if (queue.object->qp_state == layouts::qp_state::sq_draining && to != IBV_QPS_RESET &&
      to != IBV_QPS_ERR) {
    query_queue_pair query;
    if (const int error = here.perform(query, queue.handle); error != 0) return error;
  }
  route on{.on_ethernet = here.is_port(changed.port_num) && is_ethernet(here, changed.port_num),
           .has_frames = queue.shared->has_frames,
           .path = queue.shared->path};
  if (on.has_frames && (mask & IBV_QP_PORT) != 0 && !on.on_ethernet) return EINVAL;
  if (on.on_ethernet && !on.has_frames)
    if (const int error = take_path(here, changed, mask, on.path); error != 0) return error;
  const bool changes =
      to != IBV_QPS_RESET && to != IBV_QPS_ERR &&
      (from == to || to == IBV_QPS_SQD || from == IBV_QPS_SQD || from == IBV_QPS_SQE);
  const bool drains = from == IBV_QPS_RTS && to == IBV_QPS_SQD;
  const bool notifies = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && how->en_sqd_async_notify != 0;
  const int error = changes
                        ? change(here, queue, changed, on, mask, to,
                                 drains ? layouts::qp_state::sq_draining : *state_of(to), notifies)
                        : connect(here, queue, changed, on, mask, to);
  if (error != 0) return error;
  if (to == IBV_QPS_RESET) note_reset(qp->qp_num);
  queue.shared->attributes = to == IBV_QPS_RESET ? ibv_qp_attr{} : changed;
  queue.shared->path = on.path;
  queue.shared->on_ethernet = on.on_ethernet;
  qp->state = to;
  return 0;
}

}  // namespace
}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* how, int mask) {
  FREEHCA_CALL(call);
  const int error = modify(qp, how, mask);
  if (error == 0 && (mask & IBV_QP_DEST_QPN) != 0) note_peer(qp->qp_num, how->dest_qp_num);
  if (explains_failures && error == 0 && (mask & IBV_QP_STATE) != 0)
    note_change(named_kind::queue_pair, qp->qp_num,
                std::string("moved to ") + name_of(how->qp_state) + " by ibv_modify_qp",
                call.from());
  return call.ended(because_of_pair(error, *qp));
}

FREEHCA_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* to, int mask,
                                ibv_qp_init_attr* made_with) {
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (here.dead()) return ENODEV;
  if ((mask & ~(IBV_QP_RATE_LIMIT - 1)) != 0) return EOPNOTSUPP;
  const engine::guard held(here.lock);
  here.poll_events_if_any();
  ibv_qp_attr found = queue.shared->attributes;
  found.qp_state = state_of(queue.object->qp_state);
  if (found.qp_state != IBV_QPS_RESET) {
    query_queue_pair query;
    if (const int error = here.perform(query, queue.handle); error != 0) return error;
    const ibv_qp_attr given = found;
    take(report_of(here.objects(), query), qp->qp_type, found);
    if (queue.shared->on_ethernet) {
      // The report has no path of InfiniBand. The path is as it was given.
      found.port_num = given.port_num;
      found.ah_attr = given.ah_attr;
      found.alt_ah_attr = given.alt_ah_attr;
    }
  }
  found.cur_qp_state = qp->state = found.qp_state;
  found.cap = queue.made_with.cap;
  *to = found;
  *made_with = queue.made_with;
  return 0;
}

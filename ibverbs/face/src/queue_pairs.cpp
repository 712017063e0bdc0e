// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <optional>
#include <utility>

#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>
#include <freehca/hca/kinds/xrc_queue_pair.hpp>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

std::optional<layouts::qp_service> service_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return layouts::qp_service::rc;
    case IBV_QPT_UC:
      return layouts::qp_service::uc;
    case IBV_QPT_UD:
      return layouts::qp_service::ud;
    default:
      return {};
  }
}

queue_pair_attributes attributes_of(ibv_pd* pd, const ibv_qp_init_attr& from,
                                    layouts::qp_service service) {
  queue_pair_attributes to;
  to.pd = of(pd).handle;
  to.send_cq = of(from.send_cq).handle;
  to.receive_cq = of(from.recv_cq).handle;
  to.service = service;
  to.sends = std::max(1u, from.cap.max_send_wr);
  to.gather = std::max(1u, from.cap.max_send_sge);
  to.inline_bytes = from.cap.max_inline_data;
  if (from.srq != nullptr) {
    to.shared = of(from.srq).handle;
  } else {
    to.receives = std::max(1u, from.cap.max_recv_wr);
    to.scatter = std::max(1u, from.cap.max_recv_sge);
  }
  return to;
}

/// What a program can ask of a queue pair of frames beside its capabilities.
struct frame_needs {
  std::uint16_t header_bytes = 0;  ///< of large sends
  bool keeps_check_sequence = false;
};

raw_ethernet_attributes attributes_of(ibv_pd* pd, const ibv_qp_init_attr& from,
                                      const frame_needs& needs) {
  raw_ethernet_attributes to{attributes_of(pd, from, layouts::qp_service::uc)};
  to.header_bytes = needs.header_bytes;
  to.keep_check_sequence = needs.keeps_check_sequence;
  return to;
}

/// What the rings have room for, at least what was asked for.
ibv_qp_cap capabilities_of(const queue_pair& made, const ibv_qp_init_attr& how) {
  if (how.qp_type == IBV_QPT_XRC_RECV) return {};
  ibv_qp_cap can = how.cap;
  can.max_send_wr = made.rings.send.most_outstanding();
  if (how.srq == nullptr && how.qp_type != IBV_QPT_XRC_SEND) {
    can.max_recv_wr = made.rings.receive.most_outstanding();
    can.max_recv_sge = made.rings.receive.most_scatter();
  } else {
    can.max_recv_wr = can.max_recv_sge = 0;
  }
  return can;
}

/// Makes the queue pair of the driver. Returns 0, or an errno.
template <class Kind>
int make(engine& here, typename Kind::attributes attributes, ibv_qp_init_attr& how, pair& made) {
  auto shared = std::make_unique<opened_pair>();
  if constexpr (requires { attributes.cookie; }) attributes.cookie = shared.get();
  else attributes.queue.cookie = shared.get();
  const engine::guard held(here.lock);
  create_object<Kind> create;
  if (const int error = here.perform(create, attributes); error != 0) return error;
  made.handle = create.made();
  made.object = here.objects().find(made.handle);
  how.cap = capabilities_of(*made.object, how);
  shared->opens.push_back(&made);
  made.shared = shared.release();
  if (made.domain == nullptr) return 0;
  ++made.domain->users;
  made.domain->of->targets.push_back(&made);
  return 0;
}

/// Returns the queue pair to the program.
ibv_qp* finish(std::unique_ptr<pair> made, ibv_context* context, ibv_pd* pd,
               const ibv_qp_init_attr& how) {
  ibv_qp& verbs = made->verbs.qp_base;
  verbs.context = context;
  verbs.qp_context = how.qp_context;
  verbs.pd = pd;
  verbs.send_cq = how.send_cq;
  verbs.recv_cq = how.recv_cq;
  verbs.srq = how.srq;
  verbs.qp_num = made->object->number;
  verbs.state = IBV_QPS_RESET;
  verbs.qp_type = how.qp_type;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
  made->made_with = how;
  ++of(context).queues;
  return qp_of(*made.release());
}

/// What is above the limits that ibv_query_device() reports is refused, as by libmlx4 (rdma-core
/// providers/mlx4/verbs.c create_qp_ex). The rings could have somewhat more.
int check_limits(engine& here, const ibv_qp_init_attr& how) {
  const ibv_qp_cap& asked = how.cap;
  const queue_limits most = queue_limits_of(here);
  const auto refuse_above = [](const char* name, std::uint32_t value, std::uint32_t limit) {
    return value <= limit ? 0
                          : because(EINVAL, "queue pair: %s %u; at most %u (ibv_query_device)",
                                    name, value, limit);
  };
  const std::uint32_t receives = how.srq != nullptr ? 0 : asked.max_recv_wr;
  const std::uint32_t scatter = how.srq != nullptr ? 0 : asked.max_recv_sge;
  for (const int error : {refuse_above("max_send_wr", asked.max_send_wr, most.requests),
                          refuse_above("max_recv_wr", receives, most.requests),
                          refuse_above("max_send_sge", asked.max_send_sge, most.entries),
                          refuse_above("max_recv_sge", scatter, most.entries)})
    if (error != 0) return error;
  return 0;
}

ibv_qp* create(ibv_pd* pd, ibv_qp_init_attr& how, const frame_needs& needs = {}) {
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  const bool initiator = how.qp_type == IBV_QPT_XRC_SEND,
             frames = how.qp_type == IBV_QPT_RAW_PACKET;
  const std::optional<layouts::qp_service> service = service_of(how.qp_type);
  if (!service && !initiator && !frames) return fail(refuse("a queue pair of that type"));
  if (const int error = check_limits(here, how); error != 0) return fail(error);
  if (how.send_cq == nullptr || (how.recv_cq == nullptr && !initiator)) return fail(EINVAL);
  // A shared receive queue of XRC serves XRC targets alone (Linux 6.1 core/uverbs_cmd.c create_qp).
  if (!initiator && how.srq != nullptr && of(how.srq).domain != nullptr) return fail(EINVAL);
  if (frames && how.srq != nullptr)
    return fail(refuse("a raw packet queue pair with a shared receive queue"));
  auto made = std::make_unique<pair>();
  int error = 0;
  if (frames) {
    error = make<raw_ethernet_queue_pair>(here, attributes_of(pd, how, needs), how, *made);
    if (error == 0) made->shared->has_frames = true;
  } else if (initiator) {
    xrc_queue_pair_attributes attributes;
    attributes.pd = of(pd).handle;
    attributes.cq = of(how.send_cq).handle;
    attributes.sends = std::max(1u, how.cap.max_send_wr);
    attributes.gather = std::max(1u, how.cap.max_send_sge);
    attributes.inline_bytes = how.cap.max_inline_data;
    error = make<xrc_queue_pair>(here, attributes, how, *made);
  } else {
    error = make<queue_pair>(here, attributes_of(pd, how, *service), how, *made);
  }
  if (error != 0) return fail(with_subject(error, "queue pair"));
  return finish(std::move(made), pd->context, pd, how);
}

ibv_qp* create_target(ibv_context* context, ibv_xrcd* xrcd, ibv_qp_init_attr& how) {
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<pair>();
  made->domain = &of(xrcd);
  const shared_domain& domain = *made->domain->of;
  const int error = make<xrc_queue_pair>(
      here, {.domain = domain.handle, .pd = domain.pd, .cq = domain.cq}, how, *made);
  if (error != 0) return fail(error);
  return finish(std::move(made), context, nullptr, how);
}

/// As in Linux 6.1 hw/mlx4/qp.c _mlx4_ib_create_qp_rss and rdma-core providers/mlx4/verbs.c
/// _mlx4_create_qp_ex_rss.
ibv_qp* create_rss(ibv_context* context, const ibv_qp_init_attr_ex& from) {
  constexpr std::uint32_t needed =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;
  if ((from.comp_mask & ~(needed | IBV_QP_INIT_ATTR_CREATE_FLAGS)) != 0)
    return fail(refuse("an attribute of an RSS queue pair"));
  if ((from.comp_mask & needed) != needed || from.qp_type != IBV_QPT_RAW_PACKET)
    return fail(EINVAL);
  if (((from.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && from.create_flags != 0) ||
      from.send_cq != nullptr || from.cap.max_send_wr != 0)
    return fail(EOPNOTSUPP);
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  rss_queue_pair_attributes attributes;
  if (const int error = hash_of(here, from.rx_hash_conf, attributes); error != 0)
    return fail(error);
  indirection_table& table = of(from.rwq_ind_tbl);
  std::vector<handle<receive_work_queue>> queues;
  for (const receive_queue* q : table.queues) queues.push_back(q->queue);
  attributes.table = queues.data();
  attributes.count = static_cast<std::uint32_t>(queues.size());
  attributes.queue.pd = of(from.pd).handle;
  attributes.queue.send_cq = attributes.queue.receive_cq =
      of(table.queues.front()->verbs.cq).handle;
  auto made = std::make_unique<pair>();
  made->table = &table;
  ibv_qp_init_attr plain{};
  plain.qp_context = from.qp_context;
  plain.qp_type = from.qp_type;
  if (const int error = make<rss_queue_pair>(here, attributes, plain, *made); error != 0)
    return fail(error);
  plain.cap = {};
  {
    const engine::guard held(here.lock);
    ++table.users;
  }
  return finish(std::move(made), context, from.pd, plain);
}

/// Remembers a new queue pair for explanations.
ibv_qp* noted(const verbs_call& call, ibv_qp* made) {
  if (made == nullptr || !explains_failures) return made;
  const auto uses = [made](named_kind kind, std::uint32_t number) {
    note_use(named_kind::queue_pair, made->qp_num, kind, number);
  };
  note_made(named_kind::queue_pair, made->qp_num, call.from());
  if (made->pd != nullptr) uses(named_kind::domain, made->pd->handle);
  for (ibv_cq* const cq : {made->send_cq, made->recv_cq})
    if (cq != nullptr) uses(named_kind::completion_queue, of(cq).object->number);
  if (made->srq != nullptr && of(made->srq).domain == nullptr) {
    engine& here = engine_of(made->context);
    const engine::guard held(here.lock);
    uses(named_kind::shared_receive_queue, here.objects().find(of(made->srq).handle)->number);
  }
  return made;
}

bool is_last(const pair& queue) {
  return queue.shared->opens.size() == 1;
}

/// Takes an open of a queue pair away. With the engine's lock.
void take_away(pair& queue) {
  opened_pair& shared = *queue.shared;
  std::erase(shared.opens, &queue);
  if (queue.domain != nullptr) {
    --queue.domain->users;
    std::vector<pair*>& targets = queue.domain->of->targets;
    if (std::erase(targets, &queue) != 0 && !shared.opens.empty())
      targets.push_back(shared.opens.front());
  }
  if (shared.opens.empty()) delete &shared;
}

constexpr std::uint64_t request_functions =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV |
    IBV_QP_EX_WITH_BIND_MW;

}  // namespace

ibv_qp* open_target(ibv_context* context, ibv_qp_open_attr* how) {
  constexpr std::uint32_t needed =
      IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if (how->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED) return fail(ENOSYS);
  if ((how->comp_mask & needed) != needed || how->qp_type != IBV_QPT_XRC_RECV) return fail(EINVAL);
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<pair>();
  made->domain = &of(how->xrcd);
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  if ((how->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) attributes.qp_context = how->qp_context;
  {
    const engine::guard held(here.lock);
    const std::vector<pair*>& targets = made->domain->of->targets;
    const auto found = std::find_if(targets.begin(), targets.end(), [how](const pair* p) {
      return p->object->number == how->qp_num;
    });
    if (found == targets.end()) return fail(EINVAL);
    made->handle = (*found)->handle;
    made->object = (*found)->object;
    made->shared = (*found)->shared;
    ++made->domain->users;
    // An event may come as soon as the open is listed.
    ibv_qp* const opened = finish(std::move(made), context, nullptr, attributes);
    opened->state = IBV_QPS_UNKNOWN;  // rdma-core ibv_cmd_open_qp
    of(opened).shared->opens.push_back(&of(opened));
    return opened;
  }
}

ibv_qp* create_extended_qp(ibv_context* context, ibv_qp_init_attr_ex* how) {
  FREEHCA_CALL(call);
  if ((how->comp_mask & (IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE)) != 0)
    return create_rss(context, *how);
  const bool target = how->qp_type == IBV_QPT_XRC_RECV;
  // A domain of other types is not looked at, and neither is the protection domain of a target
  // (rdma-core providers/mlx4/verbs.c MLX4_CREATE_QP_SUP_COMP_MASK).
  constexpr std::uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                  IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                  IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  const bool builds = (how->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((how->comp_mask & ~known) != 0) return fail(refuse("an attribute of ibv_create_qp_ex"));
  const std::uint32_t needed = target ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
  if ((how->comp_mask & needed) == 0) return fail(EINVAL);
  const bool frames = how->qp_type == IBV_QPT_RAW_PACKET;
  // mlx4_ib takes the first flag of frames too (Linux 6.1 hw/mlx4/qp.c _mlx4_ib_create_qp).
  std::uint32_t allowed = 0;
  if (frames || how->qp_type == IBV_QPT_UD) allowed |= IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
  if (frames) allowed |= IBV_QP_CREATE_SCATTER_FCS;
  const std::uint32_t flags =
      (how->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 ? how->create_flags : 0;
  frame_needs needs{.keeps_check_sequence = (flags & IBV_QP_CREATE_SCATTER_FCS) != 0};
  if ((how->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0)
    needs.header_bytes = how->max_tso_header;
  if (needs.header_bytes != 0 && !frames) return fail(EINVAL);
  if ((flags & ~allowed) != 0) return fail(refuse("a create flag of ibv_create_qp_ex"));
  // A program calls the functions that it asked for without looking at them.
  const std::uint64_t functions = request_functions | (frames ? IBV_QP_EX_WITH_TSO : 0);
  if (builds && (how->send_ops_flags & ~functions) != 0)
    return fail(refuse("a send operation of ibv_create_qp_ex"));
  ibv_qp_init_attr plain{how->qp_context, how->send_cq, how->recv_cq,   how->srq,
                         how->cap,        how->qp_type, how->sq_sig_all};
  ibv_qp* const made = noted(call, call.made(target ? create_target(context, how->xrcd, plain)
                                                    : create(how->pd, plain, needs)));
  if (made == nullptr) return nullptr;
  how->cap = plain.cap;
  of(made).blocks_loopback = (flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) != 0;
  if (builds) {
    pair& queue = of(made);
    queue.builds = true;
    set_request_functions(queue.verbs);
  }
  return made;
}

}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* how) {
  FREEHCA_CALL(call);
  return noted(call, call.made(create(pd, *how)));
}

FREEHCA_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  pair& queue = of(qp);
  return queue.builds ? &queue.verbs : nullptr;
}

FREEHCA_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  FREEHCA_CALL(call);
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (!here.dead()) {
    {
      const engine::guard held(here.lock);
      const bool runs = queue.object->qp_state != layouts::qp_state::reset;
      if (is_last(queue)) {
        destroy_queue_pair destroy;
        if (const int error = here.perform(destroy, queue.handle); error != 0)
          return call.ended(error);
        note_destroyed(named_kind::queue_pair, qp->qp_num, call.from());
        here.poll_events();  // no event of it comes later
      }
      if (queue.table != nullptr) {
        if (runs) stop_queues(here, *queue.table);
        --queue.table->users;
      }
      take_away(queue);
    }
    of(qp->context).asynchronous->drop([qp](const ibv_async_event& e) {
      const bool of_pair =
          e.event_type != IBV_EVENT_CQ_ERR && e.event_type <= IBV_EVENT_PATH_MIG_ERR;
      return (of_pair || e.event_type == IBV_EVENT_QP_LAST_WQE_REACHED) && e.element.qp == qp;
    });
    pthread_mutex_lock(&qp->mutex);
    while (qp->events_completed != queue.delivered) pthread_cond_wait(&qp->cond, &qp->mutex);
    pthread_mutex_unlock(&qp->mutex);
  }
  pthread_mutex_destroy(&qp->mutex);
  pthread_cond_destroy(&qp->cond);
  --of(qp->context).queues;
  delete &queue;
  return 0;
}

FREEHCA_EXPORT int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
  return 0;  // no promise
}

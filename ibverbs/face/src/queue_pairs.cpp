// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <optional>

#include <freehca/hca/kinds/queue_pair.hpp>

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

/// What the rings have room for, at least what was asked for.
ibv_qp_cap capabilities_of(const queue_pair& made, const ibv_qp_init_attr& how) {
  ibv_qp_cap can = how.cap;
  can.max_send_wr = made.rings.send.most_outstanding();
  if (how.srq == nullptr) {
    can.max_recv_wr = made.rings.receive.most_outstanding();
    can.max_recv_sge = made.rings.receive.most_scatter();
  } else {
    can.max_recv_wr = can.max_recv_sge = 0;
  }
  return can;
}

ibv_qp* create(ibv_pd* pd, ibv_qp_init_attr& how) {
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  const std::optional<layouts::qp_service> service = service_of(how.qp_type);
  if (!service) return fail(refuse("a queue pair of that type"));
  if (how.send_cq == nullptr || how.recv_cq == nullptr) return fail(EINVAL);
  auto made = std::make_unique<pair>();
  queue_pair_attributes attributes = attributes_of(pd, how, *service);
  attributes.cookie = made.get();
  {
    const engine::guard held(here.lock);
    create_queue_pair create;
    if (const int error = here.perform(create, attributes); error != 0) return fail(error);
    made->handle = create.made();
    made->object = here.objects().find(made->handle);
    how.cap = capabilities_of(*made->object, how);
  }
  ibv_qp& verbs = made->verbs.qp_base;
  verbs.context = pd->context;
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
  ++of(pd->context).queues;
  return qp_of(*made.release());
}

constexpr std::uint64_t request_functions =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV |
    IBV_QP_EX_WITH_BIND_MW;

}  // namespace

ibv_qp* create_extended_qp(ibv_context*, ibv_qp_init_attr_ex* how) {
  constexpr std::uint32_t known =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  const bool builds = (how->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((how->comp_mask & ~known) != 0) return fail(refuse("an attribute of ibv_create_qp_ex"));
  if ((how->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return fail(EINVAL);
  // No datagram to a group comes back: no queue pair can join one (refused.cpp).
  const std::uint32_t allowed =
      how->qp_type == IBV_QPT_UD ? std::uint32_t{IBV_QP_CREATE_BLOCK_SELF_MCAST_LB} : 0;
  if ((how->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && (how->create_flags & ~allowed) != 0)
    return fail(refuse("a create flag of ibv_create_qp_ex"));
  // A program calls the functions that it asked for without looking at them.
  if (builds && (how->send_ops_flags & ~request_functions) != 0)
    return fail(refuse("a send operation of ibv_create_qp_ex"));
  ibv_qp_init_attr plain{how->qp_context, how->send_cq, how->recv_cq,   how->srq,
                         how->cap,        how->qp_type, how->sq_sig_all};
  ibv_qp* const made = create(how->pd, plain);
  if (made == nullptr) return nullptr;
  how->cap = plain.cap;
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
  return create(pd, *how);
}

FREEHCA_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  pair& queue = of(qp);
  return queue.builds ? &queue.verbs : nullptr;
}

FREEHCA_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  pair& queue = of(qp);
  engine& here = engine_of(qp->context);
  if (!here.dead()) {
    {
      const engine::guard held(here.lock);
      destroy_queue_pair destroy;
      if (const int error = here.perform(destroy, queue.handle); error != 0) return error;
      here.poll_events();  // no event of it comes later
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

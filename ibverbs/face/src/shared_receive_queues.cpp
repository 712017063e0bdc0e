// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <utility>

#include <freehca/hca/kinds/xrc_receive_queue.hpp>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

std::uint32_t number_of(engine& here, const shared_receives& queue) {
  return queue.domain != nullptr ? srqn_of(here.objects(), queue.extended)
                                 : here.objects().find(queue.handle)->number;
}

namespace {

/// Fills in the rest of a queue that the driver has.
ibv_srq* finish(std::unique_ptr<shared_receives> made, ibv_pd* pd, void* context,
                ibv_srq_attr& attributes) {
  attributes.max_wr = made->rings->most_outstanding();
  attributes.max_sge = made->rings->most_scatter();
  made->attributes = {attributes.max_wr, attributes.max_sge, 0};
  ibv_srq& verbs = made->verbs;
  verbs.context = pd->context;
  verbs.srq_context = context;
  verbs.pd = pd;
  ++of(pd->context).queues;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
  return &made.release()->verbs;
}

ibv_srq* create_of_domain(ibv_srq_init_attr_ex& how) {
  constexpr std::uint32_t needed =
      IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if ((how.comp_mask & needed) != needed) return fail(EINVAL);
  engine& here = engine_of(how.pd->context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<shared_receives>();
  made->domain = &of(how.xrcd);
  made->completes_in = &of(how.cq);
  {
    const engine::guard held(here.lock);
    create_xrc_receive_queue create;
    const xrc_receive_queue_attributes attributes{.pd = of(how.pd).handle,
                                                  .domain = made->domain->of->handle,
                                                  .cq = made->completes_in->handle,
                                                  .receives = how.attr.max_wr,
                                                  .scatter = std::max(1u, how.attr.max_sge),
                                                  .cookie = made.get()};
    if (const int error = here.perform(create, attributes); error != 0) return fail(error);
    made->extended = create.made();
    made->rings = &here.objects().find(made->extended)->rings;
    ++made->domain->users;
    ++made->completes_in->named_queues;
  }
  return finish(std::move(made), how.pd, how.srq_context, how.attr);
}

}  // namespace

ibv_srq* create_extended_srq(ibv_context*, ibv_srq_init_attr_ex* how) {
  const bool typed = (how->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  constexpr std::uint32_t of_xrc =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if (typed && how->srq_type == IBV_SRQT_XRC && (how->comp_mask & ~of_xrc) == 0)
    return create_of_domain(*how);
  constexpr std::uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  if ((how->comp_mask & ~known) != 0 || (typed && how->srq_type != IBV_SRQT_BASIC))
    return fail(refuse("a shared receive queue of that type"));
  if ((how->comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0) return fail(EINVAL);
  ibv_srq_init_attr plain{how->srq_context, how->attr};
  ibv_srq* const made = ibv_create_srq(how->pd, &plain);
  if (made != nullptr) how->attr = plain.attr;
  return made;
}

int srq_number(ibv_srq* srq, std::uint32_t* to) {
  engine& here = engine_of(srq->context);
  if (here.dead()) return ENODEV;
  const engine::guard held(here.lock);
  *to = number_of(here, of(srq));
  return 0;
}

}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* how) {
  FREEHCA_CALL(call);
  engine& here = engine_of(pd->context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<shared_receives>();
  shared_receive_queue_attributes attributes;
  attributes.pd = of(pd).handle;
  attributes.receives = how->attr.max_wr;
  attributes.scatter = std::max(1u, how->attr.max_sge);
  attributes.cookie = made.get();
  {
    const engine::guard held(here.lock);
    create_shared_receive_queue create;
    if (const int error = here.perform(create, attributes); error != 0)
      return fail(call.ended(error));
    made->handle = create.made();
    made->rings = &here.objects().find(made->handle)->rings;
    note_made(named_kind::shared_receive_queue, number_of(here, *made), call.from());
    note_use(named_kind::shared_receive_queue, number_of(here, *made), named_kind::domain,
             pd->handle);
  }
  return finish(std::move(made), pd, how->srq_context, how->attr);
}

FREEHCA_EXPORT int ibv_destroy_srq(ibv_srq* srq) {
  FREEHCA_CALL(call);
  shared_receives& queue = of(srq);
  engine& here = engine_of(srq->context);
  if (!here.dead()) {
    {
      const engine::guard held(here.lock);
      destroy_shared_receive_queue destroy;
      destroy_xrc_receive_queue destroy_extended;
      const std::uint32_t number = number_of(here, queue);
      const int error = queue.domain != nullptr ? here.perform(destroy_extended, queue.extended)
                                                : here.perform(destroy, queue.handle);
      if (error != 0)
        return call.ended(because_in_use(error, named_kind::shared_receive_queue, number));
      note_destroyed(named_kind::shared_receive_queue, number, call.from());
      if (queue.domain != nullptr) {
        --queue.domain->users;
        --queue.completes_in->named_queues;
      }
      here.poll_events();  // no event of it comes later
    }
    of(srq->context).asynchronous->drop([srq](const ibv_async_event& e) {
      return (e.event_type == IBV_EVENT_SRQ_ERR || e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED) &&
             e.element.srq == srq;
    });
    pthread_mutex_lock(&srq->mutex);
    while (srq->events_completed != queue.delivered) pthread_cond_wait(&srq->cond, &srq->mutex);
    pthread_mutex_unlock(&srq->mutex);
  }
  pthread_mutex_destroy(&srq->mutex);
  pthread_cond_destroy(&srq->cond);
  --of(srq->context).queues;
  delete &queue;
  return 0;
}

FREEHCA_EXPORT int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* how, int mask) {
  FREEHCA_CALL(call);
  engine& here = engine_of(srq->context);
  if (here.dead()) return ENODEV;
  if ((mask & ~IBV_SRQ_LIMIT) != 0) return refuse("ibv_modify_srq of another size");
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  const engine::guard held(here.lock);
  arm_shared_receive_queue arm;
  arm_xrc_receive_queue arm_extended;
  const int error = of(srq).domain != nullptr
                        ? here.perform(arm_extended, of(srq).extended, how->srq_limit)
                        : here.perform(arm, of(srq).handle, how->srq_limit);
  const std::uint32_t number = number_of(here, of(srq));
  if (error != 0) return call.ended(because_of(error, named_kind::shared_receive_queue, number));
  if (explains_failures)
    note_change(named_kind::shared_receive_queue, number,
                "limit set to " + std::to_string(how->srq_limit) + " by ibv_modify_srq",
                call.from());
  of(srq).attributes.srq_limit = how->srq_limit;
  return 0;
}

FREEHCA_EXPORT int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* to) {
  *to = of(srq).attributes;
  return 0;
}

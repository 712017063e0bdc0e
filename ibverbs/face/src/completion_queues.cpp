// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion queues and the channels that tell of them.
#include <bit>

#include "errors.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

/// Makes a completion queue without the functions of ibv_cq_ex. Returns null, with errno, if it
/// cannot.
completions* create(ibv_context* context, const ibv_cq_init_attr_ex& asked) {
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  if (asked.cqe < 1 || asked.cqe > here.limits().completions) return fail(EINVAL);
  if (asked.comp_vector >= static_cast<std::uint32_t>(context->num_comp_vectors))
    return fail(EINVAL);
  auto made = std::make_unique<completions>();
  extended_completion_queue_attributes how;
  how.entries = asked.cqe;
  how.timestamps = (asked.wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0;
  how.cookie = made.get();
  {
    const engine::guard held(here.lock);
    create_extended_completion_queue create;
    if (const int error = here.perform(create, how); error != 0) return fail(error);
    made->handle = create.made();
    made->object = here.objects().find(made->handle);
    made->rings = &made->object->rings;
  }
  made->has_timestamps = how.timestamps;
  ibv_cq_ex& verbs = made->verbs;
  verbs.context = context;
  verbs.channel = asked.channel;
  verbs.cq_context = asked.cq_context;
  // One place of the ring is the hardware's.
  verbs.cqe = static_cast<int>(made->rings->entries()) - 1;
  pthread_mutex_init(&verbs.mutex, nullptr);
  pthread_cond_init(&verbs.cond, nullptr);
  ++of(context).queues;
  if (asked.channel != nullptr) {
    pthread_mutex_lock(&context->mutex);
    ++asked.channel->refcnt;
    pthread_mutex_unlock(&context->mutex);
  }
  return made.release();
}

void note_queue(const completions& made, const program_place& from) {
  if (explains_failures)
    note_made(named_kind::completion_queue, made.object->number, from,
              std::to_string(made.verbs.cqe) + " entries");
}

}  // namespace

// What is refused, and by which error, is as in rdma-core 44 providers/mlx4/verbs.c (create_cq,
// mlx4_create_cq_ex).
ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* how) {
  if ((how->comp_mask & ~std::uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS}) != 0) return fail(EINVAL);
  const std::uint32_t flags = (how->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? how->flags : 0;
  if ((flags & ~std::uint32_t{IBV_CREATE_CQ_ATTR_SINGLE_THREADED}) != 0)
    return fail(refuse("a flag of ibv_create_cq_ex"));
  constexpr std::uint64_t timestamp = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  constexpr std::uint64_t path = IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL;
  if ((how->wc_flags & ~(IBV_WC_STANDARD_FLAGS | timestamp)) != 0)
    return fail(refuse("a member of completions"));
  // The timestamp stands where LID and SL stand else.
  if ((how->wc_flags & timestamp) != 0 && (how->wc_flags & path) != 0)
    return fail(refuse("a timestamp beside the SL or the LID"));
  FREEHCA_CALL(call);
  completions* const made = call.made(create(context, *how));
  if (made == nullptr) return nullptr;
  note_queue(*made, call.from());
  made->is_single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  set_polling_functions(made->verbs, how->wc_flags);
  return &made->verbs;
}

int modify_completion_queue(ibv_cq* cq, ibv_modify_cq_attr* how) {
  engine& here = engine_of(cq->context);
  if (here.dead()) return ENODEV;
  if (how->attr_mask != IBV_CQ_ATTR_MODERATE) return EINVAL;
  const engine::guard held(here.lock);
  moderate_completion_queue moderate;
  return here.perform(moderate, of(cq).handle, how->moderate.cq_count, how->moderate.cq_period);
}

}  // namespace freehca::ibverbs

using namespace freehca;
using namespace freehca::ibverbs;

FREEHCA_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto made = std::make_unique<completion_channel>();
  auto events = std::make_unique<event_queue<completions*>>();
  if (events->descriptor() < 0) return fail(EMFILE);
  made->verbs = {context, events->descriptor(), 0};
  made->events = events.release();
  return &made.release()->verbs;
}

FREEHCA_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  const bool dead = engine_of(channel->context).dead();
  if (!dead) pthread_mutex_lock(&channel->context->mutex);
  const bool busy = channel->refcnt != 0;
  if (!dead) pthread_mutex_unlock(&channel->context->mutex);
  if (busy) return EBUSY;
  delete of(channel).events;
  delete &of(channel);
  return 0;
}

FREEHCA_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* cq_context,
                                     ibv_comp_channel* channel, int vector) {
  ibv_cq_init_attr_ex how{};
  how.cqe = entries < 0 ? 0 : static_cast<std::uint32_t>(entries);
  how.cq_context = cq_context;
  how.channel = channel;
  how.comp_vector = static_cast<std::uint32_t>(vector);
  FREEHCA_CALL(call);
  completions* const made = call.made(create(context, how));
  if (made == nullptr) return nullptr;
  note_queue(*made, call.from());
  return cq_of(*made);
}

FREEHCA_EXPORT int ibv_destroy_cq(ibv_cq* cq) {
  FREEHCA_CALL(call);
  completions& queue = of(cq);
  engine& here = engine_of(cq->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    destroy_extended_completion_queue destroy;
    const std::uint32_t number = queue.object->number;
    if (const int error = here.perform(destroy, queue.handle); error != 0)
      return call.ended(because_in_use(error, named_kind::completion_queue, number));
    note_destroyed(named_kind::completion_queue, number, call.from());
    here.poll_events();  // no event of it comes later
  }
  // A forked child shares the parent's descriptors, so the events of dead objects stay. Another
  // thread of the parent may have held any lock.
  if (here.dead()) {
    if (cq->channel != nullptr) --cq->channel->refcnt;
  } else {
    if (cq->channel != nullptr) {
      of(cq->channel).events->drop([&queue](const completions* of_event) {
        return of_event == &queue;
      });
      pthread_mutex_lock(&cq->context->mutex);
      --cq->channel->refcnt;
      pthread_mutex_unlock(&cq->context->mutex);
    }
    of(cq->context).asynchronous->drop([cq](const ibv_async_event& e) {
      return e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == cq;
    });
    // Events that were given to the program have to be acknowledged before the object goes.
    pthread_mutex_lock(&cq->mutex);
    while (cq->comp_events_completed != queue.delivered ||
           cq->async_events_completed != queue.asynchronous_delivered)
      pthread_cond_wait(&cq->cond, &cq->mutex);
    pthread_mutex_unlock(&cq->mutex);
  }
  pthread_mutex_destroy(&cq->mutex);
  pthread_cond_destroy(&cq->cond);
  --of(cq->context).queues;
  delete &queue;
  return 0;
}

FREEHCA_EXPORT int ibv_resize_cq(ibv_cq* cq, int entries) {
  completions& queue = of(cq);
  engine& here = engine_of(cq->context);
  if (here.dead()) return ENODEV;
  if (entries < 1 || static_cast<std::uint32_t>(entries) > here.limits().completions) return EINVAL;
  const engine::guard held(here.lock);
  const auto least = static_cast<std::uint32_t>(entries);
  if (std::bit_ceil(least + 1) == queue.rings->entries()) return 0;
  create_completion_ring create;
  if (const int error = here.perform(create, completion_ring_attributes{least}); error != 0)
    return error;
  resize_completion_queue resize;
  const int error = here.perform(resize, queue.handle, create.made());
  // The ring of before, or the new one if the resize was refused. If it is in doubt which of them
  // the device uses, the ring stays until the device is closed.
  destroy_completion_ring destroy;
  static_cast<void>(here.perform(destroy, create.made()));
  cq->cqe = static_cast<int>(queue.rings->entries()) - 1;
  return error;
}

FREEHCA_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (engine_of(channel->context).dead()) {
    errno = ENODEV;
    return -1;
  }
  const int error = of(channel).events->take([&](completions* queue) {
    *cq = cq_of(*queue);
    *cq_context = queue->verbs.cq_context;
    pthread_mutex_lock(&queue->verbs.mutex);
    ++queue->delivered;
    pthread_mutex_unlock(&queue->verbs.mutex);
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

FREEHCA_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
  if (engine_of(cq->context).dead()) return;  // another thread of the parent may have had the lock
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

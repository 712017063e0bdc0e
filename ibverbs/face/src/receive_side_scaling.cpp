// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive work queues, indirection tables, and the RSS queue pairs that name them. A receive work
// queue has no port of its own: it gets the port of the first RSS queue pair that leaves RESET
// (Linux 6.1 hw/mlx4/qp.c bringup_rss_rwqs).
#include <algorithm>
#include <memory>
#include <vector>

#include "errors.hpp"
#include "gid_tables.hpp"
#include "objects.hpp"

namespace freehca::ibverbs {

namespace {

/// Numbers for the next receive work queues. Queues that a program creates one after the other have
/// consecutive numbers, up to the size of a range. With the library of rdma-core, a program asks
/// for ranges by mlx4dv_set_context_attr().
handle<receive_queue_range> next_numbers;
constexpr std::uint32_t range_size = 16;

/// Returns 0, or an errno.
int take_range(engine& here) {
  const receive_queue_range* const open = here.objects().find(next_numbers);
  if (open != nullptr && open->left != 0) return 0;
  const auto log_most = static_cast<unsigned>(
      here.hardware().capabilities().raw.get<&layouts::query_dev_cap::log_max_rss_tbl_sz>());
  create_receive_queue_range create;
  const int error = here.perform(
      create, receive_queue_range::attributes{.count = std::min(range_size, 1u << log_most)});
  if (error == 0) next_numbers = create.made();
  return error;
}

/// Fails without effect while the range has queues.
void give_back(engine& here, handle<receive_queue_range> range) {
  destroy_receive_queue_range destroy;
  here.perform(destroy, range);
}

layouts::qp_state state_of(ibv_wq_state state) {
  return state == IBV_WQS_RESET ? layouts::qp_state::reset
         : state == IBV_WQS_RDY ? layouts::qp_state::rtr
                                : layouts::qp_state::error;
}

int move(engine& here, qp_handle which, layouts::qp_state to, unsigned port) {
  connection_attributes attributes;
  attributes.address = frames_of(port);
  modify_queue_pair modify;
  return here.perform(modify, which, to, attributes);
}

/// Moves the queue of the device.
int apply(engine& here, const receive_queue& queue, ibv_wq_state to) {
  using s = layouts::qp_state;
  const s target = state_of(to);
  if (queue.object->qp_state == target) return 0;
  if (to == IBV_WQS_RDY)
    if (const int error = move(here, queue.queue, s::init, queue.port); error != 0) return error;
  const int error = move(here, queue.queue, target, queue.port);
  if (error != 0 && to == IBV_WQS_RDY) move(here, queue.queue, s::reset, queue.port);
  return error;
}

/// Without a port, the device has the queue in RESET. The program can post nevertheless, if its
/// queue is in RDY. The device sees these receives as soon as an RSS queue pair leaves RESET.
void settle_ring(receive_queue& queue) {
  receive_work_queue& object = *queue.object;
  if (object.qp_state != layouts::qp_state::reset || object.state_unknown) return;
  if (queue.verbs.state == IBV_WQS_RESET) object.rings.receive.reset();
  else object.rings.receive.accept(queue.verbs.state == IBV_WQS_RDY);
}

/// A queue in ERR stays there, so that its flushed receives can be polled.
void stop(engine& here, receive_queue& queue) {
  if (queue.running == 1 && queue.verbs.state == IBV_WQS_RDY) apply(here, queue, IBV_WQS_RESET);
  --queue.running;
  settle_ring(queue);
}

int start(engine& here, receive_queue& queue, std::uint8_t port) {
  if (queue.running != 0 && queue.port != port) return EINVAL;
  queue.port = port;
  if (queue.running == 0 && queue.verbs.state == IBV_WQS_RDY)
    if (const int error = apply(here, queue, IBV_WQS_RDY); error != 0) {
      settle_ring(queue);
      return error;
    }
  ++queue.running;
  return 0;
}

int start_queues(engine& here, indirection_table& table, std::uint8_t port) {
  for (std::size_t i = 0; i < table.queues.size(); ++i)
    if (const int error = start(here, *table.queues[i], port); error != 0) {
      while (i-- > 0) stop(here, *table.queues[i]);
      return error;
    }
  return 0;
}

}  // namespace

void stop_queues(engine& here, indirection_table& table) {
  for (receive_queue* queue : table.queues) stop(here, *queue);
}

ibv_wq* create_receive_queue(ibv_context* context, ibv_wq_init_attr* how) {
  if (how->wq_type != IBV_WQT_RQ ||
      (how->comp_mask & ~std::uint32_t{IBV_WQ_INIT_ATTR_FLAGS}) != 0 ||
      ((how->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0 && how->create_flags != 0))
    return fail(refuse("an attribute of ibv_create_wq"));
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  auto made = std::make_unique<receive_queue>();
  const engine::guard held(here.lock);
  if (const int error = take_range(here); error != 0) return fail(error);
  receive_work_queue_attributes attributes;
  attributes.range = made->range = next_numbers;
  attributes.queue.pd = of(how->pd).handle;
  attributes.queue.send_cq = attributes.queue.receive_cq = of(how->cq).handle;
  attributes.queue.receives = std::max(1u, how->max_wr);
  attributes.queue.scatter = std::max(1u, how->max_sge);
  attributes.queue.cookie = &made->events;
  create_receive_work_queue create;
  if (const int error = here.perform(create, attributes); error != 0) {
    give_back(here, next_numbers);
    return fail(error);
  }
  made->queue = create.made();
  made->object = here.objects().find(made->queue);
  made->events.receives = made.get();
  made->events.has_frames = made->events.on_ethernet = true;
  how->max_wr = made->object->rings.receive.most_outstanding();
  how->max_sge = made->most_entries = made->object->rings.receive.most_scatter();
  ibv_wq& verbs = made->verbs;
  verbs.context = context;
  verbs.pd = how->pd;
  verbs.cq = how->cq;
  verbs.wq_num = made->object->number;
  verbs.state = IBV_WQS_RESET;
  verbs.wq_type = how->wq_type;
  verbs.post_recv = post_to_receive_queue;
  ++of(context).queues;
  return &made.release()->verbs;
}

// As in Linux 6.1 hw/mlx4/qp.c mlx4_ib_modify_wq.
int modify_receive_queue(ibv_wq* wq, ibv_wq_attr* how) {
  receive_queue& queue = of(wq);
  engine& here = engine_of(wq->context);
  if (here.dead()) return ENODEV;
  if ((how->attr_mask & ~std::uint32_t{IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE}) != 0)
    return EOPNOTSUPP;
  const engine::guard held(here.lock);
  const ibv_wq_state from =
      (how->attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0 ? how->curr_wq_state : wq->state;
  const ibv_wq_state to = (how->attr_mask & IBV_WQ_ATTR_STATE) != 0 ? how->wq_state : from;
  if (from > IBV_WQS_ERR || to > IBV_WQS_ERR || (to == IBV_WQS_RDY && from == IBV_WQS_ERR) ||
      (to == IBV_WQS_ERR && from == IBV_WQS_RESET))
    return EINVAL;
  // A queue that went to ERR may have lost its last RSS queue pair since.
  if (queue.running != 0 || queue.object->qp_state != layouts::qp_state::reset)
    if (const int error = apply(here, queue, to); error != 0) return error;
  wq->state = to;
  settle_ring(queue);
  return 0;
}

int destroy_receive_queue(ibv_wq* wq) {
  receive_queue& queue = of(wq);
  engine& here = engine_of(wq->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    if (queue.tables != 0) return EBUSY;
    destroy_receive_work_queue destroy;
    if (const int error = here.perform(destroy, queue.queue); error != 0) return error;
    here.poll_events();
    // A range of which a queue is gone gives no more numbers, as in Linux. The last queue takes it
    // along.
    if (next_numbers == queue.range) next_numbers = {};
    give_back(here, queue.range);
  }
  if (!here.dead()) {
    of(wq->context).asynchronous->drop([wq](const ibv_async_event& e) {
      return e.event_type == IBV_EVENT_WQ_FATAL && e.element.wq == wq;
    });
    pthread_mutex_lock(&wq->mutex);
    while (wq->events_completed != queue.delivered) pthread_cond_wait(&wq->cond, &wq->mutex);
    pthread_mutex_unlock(&wq->mutex);
  }
  pthread_mutex_destroy(&wq->mutex);
  pthread_cond_destroy(&wq->cond);
  --of(wq->context).queues;
  delete &queue;
  return 0;
}

// As in Linux 6.1 hw/mlx4/qp.c mlx4_ib_create_rwq_ind_table.
ibv_rwq_ind_table* create_table(ibv_context* context, ibv_rwq_ind_table_init_attr* how) {
  engine& here = engine_of(context);
  if (here.dead()) return fail(ENODEV);
  if (how->comp_mask != 0) return fail(refuse("an attribute of ibv_create_rwq_ind_table"));
  const engine::guard held(here.lock);
  if (how->log_ind_tbl_size >
      here.hardware().capabilities().raw.get<&layouts::query_dev_cap::log_max_rss_tbl_sz>())
    return fail(EINVAL);
  const std::uint32_t count = 1u << how->log_ind_tbl_size;
  const std::uint32_t first = how->ind_tbl[0]->wq_num;
  if (first % count != 0) return fail(EINVAL);
  auto made = std::make_unique<indirection_table>();
  made->verbs.context = context;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (how->ind_tbl[i]->wq_num != first + i) return fail(EINVAL);
    made->queues.push_back(&of(how->ind_tbl[i]));
  }
  for (receive_queue* queue : made->queues) ++queue->tables;
  return &made.release()->verbs;
}

int destroy_table(ibv_rwq_ind_table* table) {
  indirection_table& gone = of(table);
  engine& here = engine_of(table->context);
  if (!here.dead()) {
    const engine::guard held(here.lock);
    if (gone.users != 0) return EBUSY;
    for (receive_queue* queue : gone.queues) --queue->tables;
  }
  delete &gone;
  return 0;
}

// As in Linux 6.1 hw/mlx4/qp.c set_qp_rss.
int hash_of(engine& here, const ibv_rx_hash_conf& from, rss_queue_pair_attributes& to) {
  struct field {
    std::uint64_t both;  // neither of the two, or both of them
    std::uint8_t with_ipv4, with_ipv6;
  };
  using namespace rss_headers;
  constexpr field fields[] = {
      {IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4, ipv4, 0},
      {IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6, 0, ipv6},
      {IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP, tcp_ipv4, tcp_ipv6},
      {IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP, udp_ipv4, udp_ipv6}};
  constexpr std::uint32_t key_bytes = 40;
  if (from.rx_hash_key_len != key_bytes || from.rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ)
    return EOPNOTSUPP;
  std::uint64_t left = from.rx_hash_fields_mask;
  const bool has_ipv4 = (left & fields[0].both) != 0, has_ipv6 = (left & fields[1].both) != 0;
  for (const field& f : fields) {
    const std::uint64_t given = left & f.both;
    left &= ~f.both;
    if (given == 0) continue;
    if (given != f.both || (!has_ipv4 && !has_ipv6)) return EOPNOTSUPP;
    if (has_ipv4) to.headers |= f.with_ipv4;
    if (has_ipv6) to.headers |= f.with_ipv6;
  }
  if (left != 0 ||
      here.hardware().capabilities().raw.get<&layouts::query_dev_cap::rss_toeplitz>() == 0)
    return EOPNOTSUPP;
  to.key = from.rx_hash_key;
  to.key_bytes = from.rx_hash_key_len;
  return 0;
}

// As in Linux 6.1 hw/mlx4/qp.c _mlx4_ib_modify_qp.
int modify_rss(engine& here, pair& queue, const ibv_qp_attr& how, int mask) {
  ibv_qp& verbs = *qp_of(queue);
  const ibv_qp_state from = (mask & IBV_QP_CUR_STATE) != 0 ? how.cur_qp_state : verbs.state;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? how.qp_state : from;
  const bool begins = from == IBV_QPS_RESET && to == IBV_QPS_INIT;
  if (!begins && !(from == IBV_QPS_INIT && to == IBV_QPS_RTR)) return EOPNOTSUPP;
  if ((mask & ~(IBV_QP_STATE | IBV_QP_PORT)) != 0) return EOPNOTSUPP;
  // Only the transition to INIT has a port (core/verbs.c qp_state_table, raw packets).
  if (from != verbs.state || begins != ((mask & IBV_QP_PORT) != 0)) return EINVAL;
  ibv_qp_attr& kept = queue.shared->attributes;
  const std::uint8_t port = begins ? how.port_num : kept.port_num;
  if (!here.is_port(port) || !is_ethernet(here, port)) return EINVAL;
  if (begins)
    if (const int error = start_queues(here, *queue.table, port); error != 0) return error;
  const int error =
      move(here, queue.handle, begins ? layouts::qp_state::init : layouts::qp_state::rtr, port);
  if (error != 0) {
    if (begins) stop_queues(here, *queue.table);
    return error;
  }
  kept.port_num = port;
  verbs.state = to;
  return 0;
}

}  // namespace freehca::ibverbs

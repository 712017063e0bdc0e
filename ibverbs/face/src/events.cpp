// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "events.hpp"

#include <algorithm>
#include <optional>

namespace freehca::ibverbs {

namespace {

std::mutex contexts_lock;
/// It is never destroyed: the process's exit functions look at it.
std::vector<open_context*>& contexts = *new std::vector<open_context*>;

void push(ibv_context* to, const ibv_async_event& event) {
  of(to).asynchronous->push(event);
}

std::optional<ibv_event_type> pair_event(layouts::event_type type) {
  using layouts::event_type;
  switch (type) {
    case event_type::path_migrated:
      return IBV_EVENT_PATH_MIG;
    case event_type::communication_established:
      return IBV_EVENT_COMM_EST;
    case event_type::sq_drained:
      return IBV_EVENT_SQ_DRAINED;
    case event_type::srq_last_wqe:
      return IBV_EVENT_QP_LAST_WQE_REACHED;
    case event_type::wq_catastrophic_error:
      return IBV_EVENT_QP_FATAL;
    case event_type::path_migration_failed:
      return IBV_EVENT_PATH_MIG_ERR;
    case event_type::wq_invalid_request_error:
      return IBV_EVENT_QP_REQ_ERR;
    case event_type::wq_access_violation:
      return IBV_EVENT_QP_ACCESS_ERR;
    default:
      return {};
  }
}

/// Null: the event is no consequence of a failure.
const char* name_of_failure(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return "IBV_EVENT_CQ_ERR";
    case IBV_EVENT_QP_FATAL:
      return "IBV_EVENT_QP_FATAL";
    case IBV_EVENT_QP_REQ_ERR:
      return "IBV_EVENT_QP_REQ_ERR";
    case IBV_EVENT_QP_ACCESS_ERR:
      return "IBV_EVENT_QP_ACCESS_ERR";
    case IBV_EVENT_PATH_MIG_ERR:
      return "IBV_EVENT_PATH_MIG_ERR";
    case IBV_EVENT_SRQ_ERR:
      return "IBV_EVENT_SRQ_ERR";
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return "IBV_EVENT_SRQ_LIMIT_REACHED";
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return "IBV_EVENT_QP_LAST_WQE_REACHED";
    default:
      return nullptr;
  }
}

void explain_event(ibv_event_type type, const char* kind, std::uint32_t number,
                   const std::string& facts) {
  const char* const name = name_of_failure(type);
  if (!explains_failures || name == nullptr) return;
  char text[200];
  std::snprintf(text, sizeof text, "asynchronous event %s of %s 0x%06x%s%s", name, kind, number,
                facts.empty() ? "" : ": ", facts.c_str());
  explain_remark(text);
}

void on_completion(void*, cq_handle, void* cookie) noexcept {
  auto& queue = *static_cast<completions*>(cookie);
  if (queue.verbs.channel != nullptr) of(queue.verbs.channel).events->push(&queue);
}

void on_cq_error(void*, cq_handle, void* cookie, layouts::cq_error_syndrome) noexcept {
  auto& queue = *static_cast<completions*>(cookie);
  if (queue.verbs.context == nullptr) return;  // of an XRC domain
  ibv_async_event event{};
  event.element.cq = cq_of(queue);
  event.event_type = IBV_EVENT_CQ_ERR;
  explain_event(IBV_EVENT_CQ_ERR, "CQ", queue.object->number, {});
  push(queue.verbs.context, event);
}

void on_pair(void*, qp_handle, void* cookie, layouts::event_type type) noexcept {
  const std::optional<ibv_event_type> known = pair_event(type);
  if (!known) return;
  auto& shared = *static_cast<opened_pair*>(cookie);
  ibv_async_event event{};
  if (shared.receives != nullptr) {
    if (*known != IBV_EVENT_QP_FATAL) return;
    event.event_type = IBV_EVENT_WQ_FATAL;
    event.element.wq = &shared.receives->verbs;
    return push(event.element.wq->context, event);
  }
  event.event_type = *known;
  if (!shared.opens.empty()) explain_event(*known, "QP", qp_of(*shared.opens.front())->qp_num, {});
  // Each open of an XRC target gets the event (Linux 6.1 core/verbs.c
  // __ib_shared_qp_event_handler).
  for (pair* const queue : shared.opens) {
    event.element.qp = qp_of(*queue);
    push(event.element.qp->context, event);
  }
}

void on_shared(void*, srq_handle, void* cookie, layouts::event_type type) noexcept {
  auto& queue = *static_cast<shared_receives*>(cookie);
  ibv_async_event event{};
  event.element.srq = &queue.verbs;
  event.event_type =
      type == layouts::event_type::srq_limit ? IBV_EVENT_SRQ_LIMIT_REACHED : IBV_EVENT_SRQ_ERR;
  if (explains_failures) {
    // The event comes when a receive is taken and fewer receives than the limit are left.
    const std::uint32_t limit = queue.attributes.srq_limit;
    explain_event(event.event_type, "SRQ", number_of(engine_of(queue.verbs.context), queue),
                  limit == 0 ? ""
                             : "limit " + std::to_string(limit) + " was reached: " +
                                   std::to_string(limit - 1) + " receives were left");
  }
  push(queue.verbs.context, event);
}

void to_all(const ibv_async_event& event) {
  const std::lock_guard held(contexts_lock);
  for (open_context* const context : contexts) context->asynchronous->push(event);
}

void on_port(void* of, unsigned port, std::uint32_t changes) noexcept {
  auto& here = *static_cast<engine*>(of);
  if (engine::present() != &here) return;
  ibv_async_event event{};
  event.element.port_num = static_cast<int>(port);
  const auto send = [&event](ibv_event_type type) {
    event.event_type = type;
    to_all(event);
  };
  if (has(changes, port_change::state))
    send(here.hardware().port(port).active() ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  if (has(changes, port_change::lid)) send(IBV_EVENT_LID_CHANGE);
  if (has(changes, port_change::sm_lid) || has(changes, port_change::sm_sl))
    send(IBV_EVENT_SM_CHANGE);
  if (has(changes, port_change::guids) || has(changes, port_change::subnet_prefix))
    send(IBV_EVENT_GID_CHANGE);
  if (has(changes, port_change::pkeys)) send(IBV_EVENT_PKEY_CHANGE);
  if (has(changes, port_change::client_reregister)) send(IBV_EVENT_CLIENT_REREGISTER);
}

void on_table(void* of, unsigned port, port_change what, unsigned block,
              const subnet_query& read) noexcept {
  static_cast<engine*>(of)->take_table(port, what, block, read);
}

void on_failure(void*, status) noexcept {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_DEVICE_FATAL;
  to_all(event);
}

/// How many events of an object were given to the program, and how many it has acknowledged.
struct event_counts {
  std::uint32_t* delivered = nullptr;  // null: the event concerns the port or the device
  std::uint32_t* acknowledged = nullptr;
  pthread_mutex_t* lock = nullptr;
  pthread_cond_t* condition = nullptr;
};

event_counts counts_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq& cq = *event.element.cq;
      return {&of(&cq).asynchronous_delivered, &cq.async_events_completed, &cq.mutex, &cq.cond};
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq& srq = *event.element.srq;
      return {&of(&srq).delivered, &srq.events_completed, &srq.mutex, &srq.cond};
    }
    case IBV_EVENT_WQ_FATAL: {
      ibv_wq& wq = *event.element.wq;
      return {&of(&wq).delivered, &wq.events_completed, &wq.mutex, &wq.cond};
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp& qp = *event.element.qp;
      return {&of(&qp).delivered, &qp.events_completed, &qp.mutex, &qp.cond};
    }
    default:
      return {};
  }
}

void count(std::uint32_t* which, const event_counts& counts) {
  if (which == nullptr) return;
  pthread_mutex_lock(counts.lock);
  ++*which;
  pthread_cond_signal(counts.condition);
  pthread_mutex_unlock(counts.lock);
}

}  // namespace

verbs_events event_receivers() {
  verbs_events to;
  to.completion = on_completion;
  to.cq_error = on_cq_error;
  to.qp = on_pair;
  to.srq = on_shared;
  to.device_failed = on_failure;
  return to;
}

monitor_sinks monitor_receivers(engine& of) {
  return {.context = &of, .table = on_table, .port = on_port};
}

void add_context(open_context& context) {
  const std::lock_guard held(contexts_lock);
  contexts.push_back(&context);
}

void remove_context(open_context& context) {
  const std::lock_guard held(contexts_lock);
  std::erase(contexts, &context);
}

bool any_context() {
  const std::lock_guard held(contexts_lock);
  return !contexts.empty();
}

void forget_contexts() {
  new (&contexts_lock) std::mutex;
  // Another thread of the parent may have been changing the list.
  new (&contexts) std::vector<open_context*>;
}

}  // namespace freehca::ibverbs

using namespace freehca::ibverbs;

FREEHCA_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (engine_of(context).dead()) {
    errno = ENODEV;
    return -1;
  }
  const int error = of(context).asynchronous->take([event](const ibv_async_event& next) {
    *event = next;
    const event_counts counts = counts_of(next);
    count(counts.delivered, counts);
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

FREEHCA_EXPORT void ibv_ack_async_event(ibv_async_event* event) {
  const uncancellable stays;
  const event_counts counts = counts_of(*event);
  count(counts.acknowledged, counts);
}

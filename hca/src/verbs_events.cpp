// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/verbs.hpp>

namespace freehca {

void verbs::connect_events() {
  event_sinks sinks;
  sinks.context = this;
  sinks.completion = &verbs::on_completion;
  sinks.cq_error = &verbs::on_cq_error;
  sinks.qp = &verbs::on_qp;
  sinks.port = &verbs::on_port;
  sinks.device_failed = &verbs::on_device_failed;
  sinks.was_reset = &verbs::on_reset;
  sinks.forgotten = &verbs::on_forgotten;
  device_->set_sinks(sinks);
  for (unsigned i = 0; i < device_->completion_contexts(); ++i)
    device_->completion_context(i).set_sinks(sinks);
}

void verbs::disconnect_events() {
  device_->set_sinks({});
  for (unsigned i = 0; i < device_->completion_contexts(); ++i)
    device_->completion_context(i).set_sinks({});
}

completion_queue* verbs::find_cq(std::uint32_t cqn) const {
  completion_queue* const found = cq_by_number_[cqn & cq_mask_];
  return found != nullptr && found->number == cqn ? found : nullptr;
}

void verbs::on_completion(void* self, std::uint32_t cqn) noexcept {
  auto& v = *static_cast<verbs*>(self);
  completion_queue* const cq = v.find_cq(cqn);
  if (cq == nullptr) return;
  cq->rings.on_event();
  if (v.events_.completion != nullptr)
    v.events_.completion(v.events_.context, v.completion_queues_.handle_of(*cq), cq->cookie);
}

void verbs::on_cq_error(void* self, std::uint32_t cqn, layouts::cq_error_syndrome why) noexcept {
  auto& v = *static_cast<verbs*>(self);
  completion_queue* const cq = v.find_cq(cqn);
  if (cq != nullptr && v.events_.cq_error != nullptr)
    v.events_.cq_error(v.events_.context, v.completion_queues_.handle_of(*cq), cq->cookie, why);
}

void verbs::on_qp(void* self, std::uint32_t qpn, layouts::event_type type) noexcept {
  auto& v = *static_cast<verbs*>(self);
  queues::qp_rings* const rings = v.directory_.find(qpn);
  if (rings == nullptr) return;
  auto& pair = *static_cast<queue_pair*>(rings->owner);
  // These three put the queue pair into the error state.
  if (type == layouts::event_type::wq_catastrophic_error ||
      type == layouts::event_type::wq_invalid_request_error ||
      type == layouts::event_type::wq_access_violation)
    pair.qp_state = layouts::qp_state::error;
  if (v.events_.qp != nullptr)
    v.events_.qp(v.events_.context, v.queue_pairs_.handle_of(pair), pair.cookie, type);
}

void verbs::on_port(void* self, unsigned port) noexcept {
  auto& v = *static_cast<verbs*>(self);
  if (v.events_.port != nullptr) v.events_.port(v.events_.context, port);
}

void verbs::on_device_failed(void* self, status why) noexcept {
  auto& v = *static_cast<verbs*>(self);
  v.failure_ = why;
  if (v.events_.device_failed != nullptr) v.events_.device_failed(v.events_.context, why);
}

void verbs::on_reset(void* self) noexcept {
  static_cast<verbs*>(self)->end_requests();
}

void verbs::on_forgotten(void* self) noexcept {
  static_cast<verbs*>(self)->forget();
}

}  // namespace freehca

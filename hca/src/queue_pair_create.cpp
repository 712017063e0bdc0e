// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/queue_pair.hpp>

#include <freehca/hal/storage.hpp>

#include <freehca/hca/verbs.hpp>

namespace freehca {

using namespace layouts;

namespace {

struct shapes {
  queues::sq_shape send;
  queues::rq_shape receive;
};

result<shapes> shapes_for(const queue_pair_attributes& a, const capabilities& can) {
  if (a.gather > can.most_gather || a.scatter > can.most_scatter)
    return status(driver_error::bad_argument);
  if (queues::wqe_bytes_for(a.gather, a.inline_bytes) > can.most_qp_wqe_bytes_sq)
    return status(driver_error::bad_argument);
  const auto send = queues::sq_shape_for(a.sends, a.gather, a.inline_bytes);
  if (!send.ok()) return send.error();
  const auto receive = queues::rq_shape_for(a.receives, a.scatter);
  if (!receive.ok()) return receive.error();
  if ((std::size_t{1} << receive.value().log_stride) > can.most_qp_wqe_bytes_rq ||
      send.value().log_entries > can.log_most_wqes ||
      receive.value().log_entries > can.log_most_wqes)
    return status(driver_error::bad_argument);
  return shapes{send.value(), receive.value()};
}

}  // namespace

/// Gets what a queue pair is made of; what it got so far stands in the object, from where it is
/// released.
struct queue_pair_builder {
  verbs& owner;
  queue_pair& pair;
  const queue_pair_attributes& asked;
  shapes shape;

  status build() {
    device& on = *owner.device_;
    FREEHCA_TRY(owner.take_number(pair, context_group::qp));
    const std::size_t slots = (std::size_t{shape.send.entries()} * sizeof(queues::posted_request)) +
                              shape.receive.entries() * sizeof(queues::posted_request);
    FREEHCA_TRY(get(owner.requests_.allocate(slots), pair.slots));
    FREEHCA_TRY(
        get(on.arena().allocate(shape.send.bytes() + shape.receive.bytes(), dma_arena::page),
            pair.ring));
    FREEHCA_TRY(get(on.doorbells().allocate(rq_doorbell_record::bytes), pair.record));
    FREEHCA_TRY(owner.take_translations(pair, pair.ring.bytes / dma_arena::page));
    FREEHCA_TRY(open_rings());
    return owner.directory_.add(pair.rings);
  }

 private:
  static status get(const result<dma_region>& from, dma_region& to) {
    if (!from.ok()) return from.error();
    to = from.value();
    return {};
  }

  status open_rings() {
    // The queue with the larger stride stands first (Linux 6.1 hw/mlx4/qp.c set_kernel_sq_size).
    const bool receive_first = shape.receive.log_stride > shape.send.log_stride;
    const std::size_t send_at = receive_first ? shape.receive.bytes() : 0;
    const std::size_t receive_at = receive_first ? 0 : shape.send.bytes();
    auto* const sent = storage_for<queues::posted_request>(pair.slots.host);
    auto* const received =
        static_cast<queues::posted_request*>(static_cast<void*>(sent + shape.send.entries()));
    const device& on = *owner.device_;
    pair.rings.qpn = pair.number;
    pair.rings.owner = &pair;
    FREEHCA_TRY(pair.rings.send.open(
        {.ring = pair.ring.part(send_at, shape.send.bytes()),
         .shape = shape.send,
         .slots = sent,
         .uar = on.uar().doorbells,
         .qpn = pair.number,
         .most_gather = asked.gather,
         .most_inline = asked.inline_bytes,
         .most_message_bytes = on.capabilities().most_message_bytes,
         .opcodes = queues::opcodes_of_a_connection(on.capabilities().has(dev_cap_flag::atomic))}));
    return pair.rings.receive.open({.ring = pair.ring.part(receive_at, shape.receive.bytes()),
                                    .shape = shape.receive,
                                    .slots = received,
                                    .record = pair.record,
                                    .most_scatter = asked.scatter});
  }
};

void create_queue_pair::start(verbs& owner, const queue_pair_attributes& a) {
  if (!startable()) return;
  queue_ = {};
  if (!owner.is_open() || !owner.on().up()) return refuse(owner, driver_error::bad_state);
  if (a.service != qp_service::rc) return refuse(owner, driver_error::unsupported);
  protection_domain* const domain = owner.domains_.find(a.pd);
  completion_queue* const send_cq = owner.completion_queues_.find(a.send_cq);
  completion_queue* const receive_cq = owner.completion_queues_.find(a.receive_cq);
  if (domain == nullptr || send_cq == nullptr || receive_cq == nullptr)
    return refuse(owner, driver_error::stale_handle);
  for (const completion_queue* cq : {send_cq, receive_cq})
    if (cq->state != object_record::phase::live || cq->under_change)
      return refuse(owner, driver_error::busy);
  const result<shapes> shape = shapes_for(a, owner.device_->capabilities());
  if (!shape.ok()) return refuse(owner, shape.error());
  queue_pair* const pair = owner.queue_pairs_.take();
  if (pair == nullptr)
    return refuse(owner, status(driver_error::no_resource,
                                static_cast<unsigned>(verbs_budget::item::queue_pairs)));

  pair->group = context_group::qp;
  pair->owner = &owner;
  pair->pd = a.pd;
  pair->send_cq = a.send_cq;
  pair->receive_cq = a.receive_cq;
  pair->cookie = a.cookie;
  pair->qp_state = qp_state::reset;
  ++domain->users;
  ++send_cq->users;
  ++receive_cq->users;
  if (const status s = queue_pair_builder{owner, *pair, a, shape.value()}.build(); !s.ok()) {
    owner.release(*pair);
    return refuse(owner, s);
  }
  qpn_ = pair->number;
  pair->domain_number = domain->number;
  pair->send_cqn = send_cq->number;
  pair->receive_cqn = receive_cq->number;
  pair->send_shape = shape.value().send;
  pair->receive_shape = shape.value().receive;
  start_creation(owner, *pair, nullptr, &write_translations, &finished);
}

void create_queue_pair::write_translations(object_operation& op) noexcept {
  auto& self = static_cast<create_queue_pair&>(op);
  self.owner().write_translations(self.object(), page_list(self.object().ring, 12));
}

void create_queue_pair::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<create_queue_pair&>(op);
  if (outcome.ok())
    self.queue_ = self.owner().queue_pairs_.handle_of(static_cast<queue_pair&>(self.object()));
  else self.qpn_ = 0;
}

void destroy_queue_pair::start(verbs& owner, qp_handle h) {
  if (!startable()) return;
  queue_pair* const pair = owner.queue_pairs_.find(h);
  if (const status s = verbs::check_usable(pair); !s.ok()) return refuse(owner, s);
  pair->rings.send.accept(false);
  pair->rings.receive.accept(false);
  start_destruction(owner, *pair, &finished);
}

void destroy_queue_pair::finished(object_operation& op, status) noexcept {
  auto& self = static_cast<destroy_queue_pair&>(op);
  if (self.object().state == object_record::phase::live)
    static_cast<queue_pair&>(self.object()).open_queues();
}

void verbs::strip(queue_pair& pair) {
  directory_.remove(pair.rings);
  for (const cq_handle h : {pair.send_cq, pair.receive_cq})
    if (completion_queue* const cq = completion_queues_.find(h)) {
      // Rings that were never opened have the number of an earlier queue pair, or none.
      if (pair.rings.qpn == pair.number) cq->rings.forget(pair.rings);
      --cq->users;
    }
  if (protection_domain* const domain = domains_.find(pair.pd)) --domain->users;
  if (pair.slots.bytes != 0) requests_.free(pair.slots);
  if (pair.number != object_record::none) device_->numbers().qps.free(pair.number);
  pair.rings.send.close();
  pair.rings.receive.close();
  pair.slots = {};
  pair.pd = {};
  pair.send_cq = pair.receive_cq = {};
  pair.state_unknown = false;
  pair.qp_state = qp_state::reset;
}

queues::sq* verbs::send_queue(qp_handle h) const {
  queue_pair* const pair = queue_pairs_.find(h);
  return pair != nullptr ? &pair->rings.send : nullptr;
}

queues::rq* verbs::receive_queue(qp_handle h) const {
  queue_pair* const pair = queue_pairs_.find(h);
  return pair != nullptr ? &pair->rings.receive : nullptr;
}

std::uint32_t verbs::qpn(qp_handle h) const {
  const queue_pair* const pair = queue_pairs_.find(h);
  return pair != nullptr ? pair->number : 0;
}

layouts::qp_state verbs::state(qp_handle h) const {
  const queue_pair* const pair = queue_pairs_.find(h);
  return pair != nullptr ? pair->qp_state : qp_state::reset;
}

}  // namespace freehca

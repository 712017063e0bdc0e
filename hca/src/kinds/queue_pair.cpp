// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/queue_pair.hpp>

#include <initializer_list>

#include <freehca/hal/storage.hpp>

namespace freehca {

using namespace layouts;

namespace {

std::uint64_t opcodes_for(const queue_pair_attributes& a, const queue_pair_service& service,
                          const capabilities& can) {
  return opcodes_of(service, can) & ~(a.masked_atomics ? 0 : queues::opcodes_of_masked_atomics());
}

/// Sets the shapes of the rings.
status shape(queue_pair& pair, const queue_pair_attributes& a, verbs& in) {
  using id = attribute_id;
  const capabilities& can = in.adapter().capabilities();
  const queue_pair_service& service = *pair.service;
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(id::gather, a.gather, can.most_gather));
  FREEHCA_TRY(note.check(id::scatter, a.scatter, can.most_scatter < 128 ? can.most_scatter : 128));
  std::size_t least = queues::least_wqe_bytes(opcodes_for(a, service, can));
  if (a.masked_atomics && least == queues::atomic_wqe_bytes) return driver_error::unsupported;
  if (least < service.least_wqe_bytes) least = service.least_wqe_bytes;
  const std::size_t longest =
      queues::wqe_bytes_for(a.gather, a.inline_bytes, service.header_bytes, least);
  const std::size_t most_bytes = can.most_qp_wqe_bytes_sq < queues::most_wqe_bytes
                                     ? can.most_qp_wqe_bytes_sq
                                     : queues::most_wqe_bytes;
  FREEHCA_TRY(note.check(id::send_wqe_bytes, longest, most_bytes));
  const std::uint64_t most = can.log_most_wqes < 15 ? 1u << can.log_most_wqes : 0x8000;
  FREEHCA_TRY(note.check(id::receives, a.receives, most));
  const auto send =
      queues::sq_shape_for(a.sends, a.gather, a.inline_bytes, service.header_bytes, least);
  // The ring has spare entries, at most 33.
  if (!send.ok() || send.value().entries() > most)
    return note.refuse(id::sends, a.sends, most - 33);
  pair.send_shape = send.value();
  pair.receive_shape = queues::rq_shape_for(a.receives, a.scatter).value();
  return note.check(id::receive_wqe_bytes, std::uint64_t{1} << pair.receive_shape.log_stride,
                    can.most_qp_wqe_bytes_rq);
}

}  // namespace

const queue_pair_service* service_of(qp_service code) {
  for (const queue_pair_service& s : queue_pair_services)
    if (s.code == code) return &s;
  return nullptr;
}

std::uint64_t opcodes_of(const queue_pair_service& service, const capabilities& can) {
  std::uint64_t opcodes = service.opcodes;
  if (!can.has(dev_cap_flag::atomic)) opcodes &= ~queues::opcodes_of_atomics();
  if (!can.has(bmme_flag::fast_register) || !can.has(bmme_flag::local_invalidate))
    opcodes &= ~queues::opcodes_of_memory_management();
  if (!can.has(dev_cap_flag::memory_window)) opcodes &= ~queues::opcodes_of_memory_windows();
  if (!can.has(bmme_flag::remote_invalidate))
    opcodes &= ~queues::opcode_bit(wqe_opcode::send_inval);
  return opcodes;
}

status queue_pair::plan(verbs& in, const attributes& a, creation<creating>&) {
  return plan(in, a, service_of(a.service));
}

status queue_pair::plan(verbs& in, const attributes& a, const queue_pair_service* of) {
  service = of;
  if (service == nullptr) return driver_error::unsupported;
  protection_domain* const pd = in.find(a.pd);
  completion_queue* const sends = in.find(a.send_cq);
  completion_queue* const receives = in.find(a.receive_cq);
  shared_receive_queue* const srq = in.find(a.shared);
  object_record* const needed[] = {pd, sends, receives, srq};
  const unsigned count = a.shared ? 4 : 3;
  for (unsigned i = 0; i < count; ++i) FREEHCA_TRY(verbs::usable(needed[i]));
  if (a.shared) FREEHCA_TRY(in.refused().check(attribute_id::receives, a.receives, 0));
  FREEHCA_TRY(shape(*this, a, in));
  for (unsigned i = 0; i < count; ++i) use(*needed[i]);
  domain = pd;
  send_cq = sends;
  receive_cq = receives;
  shared = srq;
  cookie = a.cookie;
  // The send queue has no doorbell record.
  const bool own = shared == nullptr;
  return in.plan_rings(*this, send_shape.bytes() + (own ? receive_shape.bytes() : 0),
                       own ? rq_doorbell_record::bytes : 0,
                       send_shape.entries() + (own ? receive_shape.entries() : 0));
}

status queue_pair::build(verbs& in, const attributes& a, creation<creating>&) {
  FREEHCA_TRY(open_rings(in, a));
  return in.queue_pairs().add(rings);
}

status queue_pair::open_rings(verbs& in, const attributes& a) {
  // The queue with the larger stride comes first (Linux 6.1 hw/mlx4/qp.c set_kernel_sq_size).
  const bool receive_first = shared == nullptr && receive_shape.log_stride > send_shape.log_stride;
  const std::size_t send_at = receive_first ? receive_shape.bytes() : 0;
  const std::size_t receive_at = receive_first ? 0 : send_shape.bytes();
  auto* const sent = storage_for<queues::posted_request>(slots.host);
  const capabilities& can = in.adapter().capabilities();
  rings.qpn = number;
  rings.owner = static_cast<queue_object*>(this);
  rings.failed = &request_failed;
  FREEHCA_TRY(rings.send.open({.ring = ring.part(send_at, send_shape.bytes()),
                               .shape = send_shape,
                               .slots = sent,
                               .uar = in.uar().doorbells,
                               .qpn = number,
                               .most_gather = a.gather,
                               .most_inline = a.inline_bytes,
                               .most_message_bytes = service->most_message_bytes != 0
                                                         ? service->most_message_bytes
                                                         : can.most_message_bytes,
                               .opcodes = opcodes_for(a, *service, can)}));
  if (shared != nullptr) {
    rings.shared = &shared->rings;
    return {};
  }
  return rings.receive.open({.ring = ring.part(receive_at, receive_shape.bytes()),
                             .shape = receive_shape,
                             .slots = sent + send_shape.entries(),
                             .record = record,
                             .most_scatter = a.scatter});
}

void queue_pair::forget_completions() {
  // If the rings were never opened, they have the number of an earlier queue pair, or none.
  if (rings.qpn != number) return;
  for (completion_queue* const queue : {send_cq, receive_cq})
    if (queue != nullptr) queue->rings.forget(rings);
}

void queue_pair::use_port(unsigned port) {
  const auto bit = static_cast<std::uint8_t>(1u << (port - 1));
  if ((ports & bit) == 0) owner->count_port_users(port, 1);
  ports |= bit;
}

void queue_pair::leave_ports(verbs& in) {
  for (unsigned port = 1; ports != 0; ++port, ports >>= 1)
    if ((ports & 1) != 0) in.count_port_users(port, -1);
}

void queue_pair::strip(verbs& in) {
  leave_ports(in);
  if (number != none) in.queue_pairs().remove(rings);
  forget_completions();
  rings.send.close();
  rings.receive.close();
  domain = nullptr;
  send_cq = receive_cq = nullptr;
  shared = nullptr;
  rings.shared = nullptr;
  state_unknown = false;
  qp_state = qp_state::reset;
}

void queue_pair::suspend() {
  rings.send.accept(false);
  rings.receive.accept(false);
}

void queue_pair::resume() {
  // In the states of SQD, requests that are posted wait.
  rings.send.accept(!state_unknown && qp_state >= qp_state::rts && qp_state != qp_state::sq_error);
  rings.receive.accept(!state_unknown && qp_state != qp_state::reset);
}

void queue_pair::notice(verbs& in, const object_event& event) {
  // With these three events, the device moves the queue pair to the error state.
  if (event.type == event_type::wq_catastrophic_error ||
      event.type == event_type::wq_invalid_request_error ||
      event.type == event_type::wq_access_violation)
    qp_state = qp_state::error;
  if (event.type == event_type::sq_drained && moving_to == qp_state::sq_draining &&
      qp_state != qp_state::error)
    qp_state = qp_state::sq_drained;
  const verbs_events& to = in.events();
  if (to.qp != nullptr) to.qp(to.context, verbs::handle_of(*this), cookie, event.type);
}

/// Follows the state change that the device makes with a completion in error (IBTA vol. 1, 10.3.1
/// and table 55). A send error of an unreliable service stops only the send queue. Called inside
/// cq::poll() and cq::look(). Requests that were posted and not rung yet stay posted.
void queue_pair::request_failed(queues::qp_rings& rings, bool sent) noexcept {
  auto& pair = static_cast<queue_pair&>(*static_cast<queue_object*>(rings.owner));
  const bool send_queue_alone = sent && pair.service->code != qp_service::rc;
  if (!send_queue_alone) {
    // A queue pair in RESET stays there: TO_RESET dropped the requests whose completion this is.
    if (pair.qp_state != qp_state::reset) pair.qp_state = qp_state::error;
  } else if (pair.qp_state == qp_state::rts) {
    pair.qp_state = qp_state::sq_error;
    rings.send.accept(false);
  }
}

void queue_pair::end_requests(verbs& in, status why) {
  const qp_handle self = verbs::handle_of(*this);
  queues::work_completion completion;
  completion.status = queues::completion_status::device_reset;
  completion.queue = &rings;
  completion.set_qpn(rings.qpn);
  while (const queues::posted_request* const sent = rings.send.retire_oldest()) {
    completion.wr_id = sent->wr_id;
    completion.opcode = sent->opcode;
    in.tell_ended(self, cookie, completion, why);
  }
  completion.opcode = queues::work_opcode::receive;
  while (const queues::posted_request* const posted = rings.receive.retire_oldest()) {
    completion.wr_id = posted->wr_id;
    in.tell_ended(self, cookie, completion, why);
  }
}

}  // namespace freehca

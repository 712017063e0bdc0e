// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The transitions of queue pairs. Linux 6.1 fills the contexts in the same way (hw/mlx4/qp.c
// __mlx4_ib_modify_qp, _mlx4_set_path). queue_pair_context() sets the fields of the queue pair. The
// attributes of a transition are rows of a table. Each service chooses rows that follow each other.
#include <freehca/hca/kinds/queue_pair.hpp>

#include <cstddef>

#include <freehca/layouts/bit_operations.hpp>

#include "queue_pair_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

using attributes = connection_attributes;
#define FREEHCA_ROW(member, table, field) \
  FREEHCA_FIELD_AS(attributes, member, &table::field, attribute_id::member)
constexpr auto connection_fields = fields_of<qpc>(
    FREEHCA_ROW(pkey_index, primary_path, pkey_index),
    FREEHCA_FIELD(attributes, counter, &primary_path::counter_index),
    FREEHCA_FIELD(attributes, qkey, &qpc::qkey), FREEHCA_ROW(min_rnr_timer, qpc, min_rnr_nak),
    FREEHCA_ROW(reads_as_responder, qpc, rra_max),
    FREEHCA_FIELD(attributes, remote_read, &qpc::rre),
    FREEHCA_FIELD(attributes, remote_atomic, &qpc::rae),
    FREEHCA_FIELD(attributes, remote_write, &qpc::rwe), FREEHCA_ROW(path_mtu, qpc, mtu),
    FREEHCA_ROW(remote_qpn, qpc, remote_qpn), FREEHCA_ROW(receive_psn, qpc, next_rcv_psn),
    FREEHCA_ROW(send_psn, qpc, next_send_psn), FREEHCA_ROW(reads_as_requester, qpc, sra_max),
    FREEHCA_ROW(retry_count, qpc, retry_count), FREEHCA_ROW(rnr_retry, qpc, rnr_retry),
    FREEHCA_ROW(ack_timeout, primary_path, ack_timeout),
    FREEHCA_ROW(log_ack_request, qpc, ack_req_freq));
#undef FREEHCA_ROW

consteval std::uint8_t row_at(std::size_t member) {
  std::uint8_t row = 0;
  while (connection_fields.rows[row].member != member) ++row;
  return row;
}
// The rows from the member `first` to the member `last`.
#define FREEHCA_ROWS(first, last)      \
  row_at(offsetof(attributes, first)), \
      row_at(offsetof(attributes, last)) + 1 - row_at(offsetof(attributes, first))
constexpr std::uint32_t rights = qp_optpar::rre | qp_optpar::rwe | qp_optpar::rae,
                        peer = qp_optpar::primary_path | qp_optpar::sched_queue |
                               qp_optpar::pkey_index;

}  // namespace

const queue_pair_service queue_pair_services[] = {
    {.code = qp_service::rc,
     .header_bytes = queues::rdma_header_bytes,
     .most_message_bytes = 0,
     .opcodes = queues::opcodes_of_a_connection(true) | queues::opcodes_of_memory_management() |
                queues::opcodes_of_memory_windows() | queues::opcodes_of_masked_atomics() |
                queues::opcode_bit(wqe_opcode::send_inval),
     .to = {{FREEHCA_ROWS(remote_read, remote_write), qp_optpar::pkey_index | rights},
            {FREEHCA_ROWS(min_rnr_timer, receive_psn),
             peer | qp_optpar::rra_max | qp_optpar::min_rnr_nak | rights},
            {FREEHCA_ROWS(send_psn, log_ack_request), qp_optpar::sra_max | qp_optpar::retry_count |
                                                          qp_optpar::rnr_retry |
                                                          qp_optpar::ack_timeout}}},
    {.code = qp_service::uc,
     .header_bytes = queues::rdma_header_bytes,
     .most_message_bytes = 0,
     .opcodes = queues::opcodes_of_an_unreliable_connection() |
                queues::opcodes_of_memory_management() | queues::opcodes_of_memory_windows(),
     .to = {{FREEHCA_ROWS(remote_write, remote_write), qp_optpar::pkey_index | qp_optpar::rwe},
            {FREEHCA_ROWS(remote_write, receive_psn), peer | qp_optpar::rwe},
            {FREEHCA_ROWS(send_psn, send_psn), 0}}},
    {.code = qp_service::ud,
     .header_bytes = queues::datagram_header_bytes,
     .most_message_bytes = 4096,
     .opcodes = queues::opcodes_of_datagrams(),
     .to = {{FREEHCA_ROWS(qkey, qkey), qp_optpar::pkey_index | qp_optpar::qkey},
            {FREEHCA_ROWS(path_mtu, path_mtu), qp_optpar::pkey_index},
            {FREEHCA_ROWS(send_psn, send_psn), 0}}}};
#undef FREEHCA_ROWS

std::uint32_t counters_of(const capabilities& can) {
  return can.has(dev_cap_flag::counters)
             ? static_cast<std::uint32_t>(can.raw.get<&query_dev_cap::max_counters>())
             : 0;
}

image<qpc> queue_pair_context(const queue_pair& pair, qp_state to) {
  image<qpc> c;
  c.set<&qpc::state>(to)
      .set<&qpc::service>(pair.service->code)
      .set<&qpc::pm_state>(path_migration::migrated);
  c.set<&qpc::pd>(pair.domain->number)
      .set<&qpc::usr_page>(pair.owner->uar().index)
      .set<&qpc::local_qpn>(pair.number);
  c.set<&qpc::log_sq_size>(pair.send_shape.log_entries)
      .set<&qpc::log_sq_stride>(pair.send_shape.log_stride - 4u);
  // Linux 6.1 hw/mlx4/qp.c qp_has_rq.
  const bool has_rq = pair.shared == nullptr && pair.service->code != qp_service::xrc;
  c.set<&qpc::no_rq>(!has_rq);
  if (pair.shared != nullptr)
    c.set<&qpc::ric>(true).set<&qpc::srq>(true).set<&qpc::srqn>(pair.shared->number);
  if (has_rq) {
    c.set<&qpc::log_rq_size>(pair.receive_shape.log_entries)
        .set<&qpc::log_rq_stride>(pair.receive_shape.log_stride - 4u);
  }
  // Without this bit the device refuses fast registration, whatever the opcodes are. Linux 6.1 sets
  // the bit for every queue pair of the kernel.
  c.set<&qpc::fre>((opcodes_of(*pair.service, pair.owner->adapter().capabilities()) &
                    queues::opcodes_of_memory_management()) != 0);
  c.set<&qpc::cqn_send>(pair.send_cq->number).set<&qpc::cqn_recv>(pair.receive_cq->number);
  if (to != qp_state::init) return c;
  c.set<&qpc::xrcd>(pair.xrcd);
  if (has_rq) c.set<&qpc::db_rec_addr>(pair.record.device_address);
  c.set<&qpc::log_page_size>(pair.log_page - 12u)
      .set<&qpc::mtt_base>(pair.owner->adapter().contexts().translation_offset(pair.translations));
  return c;
}

// The responder's number is rounded up, as in Linux (6.1 hw/mlx4/qp.c __mlx4_ib_modify_qp), because
// the responder must serve as many as the caller promised to the peer. The requester's number is
// rounded down, because the peer may not have promised more than the caller requests. (Linux rounds
// the requester's number up too.)
status take_reads(verbs& in, std::uint32_t written, std::uint32_t& as_responder,
                  std::uint32_t& as_requester) {
  using id = attribute_id;
  const capabilities& can = in.adapter().capabilities();
  refused_attribute& note = in.refused();
  if ((written & qp_optpar::rra_max) != 0)
    FREEHCA_TRY(note.check(id::reads_as_responder, as_responder, can.most_reads_as_responder));
  if ((written & qp_optpar::sra_max) != 0)
    FREEHCA_TRY(note.check(id::reads_as_requester, as_requester, can.most_reads_as_requester));
  as_responder = as_responder <= 1 ? 0 : bit_width(as_responder - 1);
  as_requester = as_requester <= 1 ? 0 : bit_width(as_requester) - 1;
  return {};
}

namespace {

/// Sets the fields of the transition to RTR that are not rows: the path, the port, the largest
/// message.
status set_path(image<qpc>& c, attributes& a, bool has_peer, verbs& owner) {
  const capabilities& can = owner.adapter().capabilities();
  unsigned log_most_message = 13;
  if (has_peer) {
    const auto mtu = static_cast<unsigned>(a.path_mtu);
    FREEHCA_TRY(owner.refused().check(attribute_id::path_mtu, mtu, 5, 1));  // 256 to 4096 bytes
    log_most_message = bit_width(can.most_message_bytes) - 1;
  } else {
    // As in Linux 6.1: the largest MTU, and messages of 2^13 bytes, which is a packet with its GRH.
    // The MTU of the port limits a datagram.
    a.path_mtu = ib_mtu::mtu_4096;
  }
  c.set<&qpc::msg_max>(log_most_message);
  image<address_path> path;
  FREEHCA_TRY(write_path(owner, a.address, has_peer, path));
  __builtin_memcpy(c.data() + row_of<&primary_path::force_loopback>.offset, path.data(),
                   path.size());
  return {};
}

/// Adds the attributes to the context of a transition to INIT, RTR or RTS. Errors:
/// driver_error::bad_argument (the device or the IBTA specification does not have the value of an
/// attribute, or the path is refused by check_port() or write_path()).
status write_context(const queue_pair& pair, qp_state to, attributes& a, image<qpc>& c,
                     std::uint32_t& optional) {
  verbs& owner = *pair.owner;
  const queue_pair_transition& how = pair.service->to[static_cast<unsigned>(to) - 1];
  FREEHCA_TRY(check_port(owner, a.address));
  const roce_functions* const write = a.address.write();
  const bool frames = write != nullptr && write->vlan_and_mac == nullptr;
  if ((frames || pair.service->path != nullptr) && write != pair.service->path)
    return owner.refused().refuse(attribute_id::link_layer, 0, 0);
  const bool has_peer = (how.optional_fields & qp_optpar::primary_path) != 0;
  // If the responder has no resources for reads and atomics, these are not permitted (Linux 6.1
  // to_mlx4_access_flags).
  if (a.reads_as_responder == 0) a.remote_read = a.remote_atomic = false;
  FREEHCA_TRY(take_reads(owner, how.optional_fields, a.reads_as_responder, a.reads_as_requester));
  if (to == qp_state::rtr) FREEHCA_TRY(set_path(c, a, has_peer, owner));
  // As in Linux 6.1 (hw/mlx4/qp.c __mlx4_ib_modify_qp): only a named counter is an optional field.
  optional = how.optional_fields;
  if (const unsigned sink = sink_counter(owner.adapter().capabilities()); a.counter == 0xff)
    a.counter = static_cast<std::uint8_t>(sink);
  else if (a.counter >= sink) return owner.refused().refuse(attribute_id::counter, a.counter, sink);
  else if (to == qp_state::rtr) optional |= qp_optpar::counter_index;
  FREEHCA_TRY(
      store(connection_fields, a, c, owner.refused(), row_at(offsetof(attributes, pkey_index)), 2));
  FREEHCA_TRY(store(connection_fields, a, c, owner.refused(), how.first, how.count));
  if (write != nullptr)
    optional |= write->transition(owner, *a.address.roce(), to, has_peer, pair.number, c);
  return {};
}

bool is_transition(qp_state from, qp_state to, bool unknown) {
  if (to == qp_state::reset) return true;
  if (to == qp_state::error) return unknown || from != qp_state::reset;
  return !unknown && to <= qp_state::rts &&
         static_cast<unsigned>(from) + 1 == static_cast<unsigned>(to);
}

/// The transition to INIT stores its attributes in the queue pair. Later transitions get the stored
/// values.
void keep_those_of_init(queue_pair& pair, qp_state to, attributes& a) {
  const auto copy = [](const auto& from, auto& into) {
    into.pkey_index = from.pkey_index;
    into.remote_read = from.remote_read;
    into.remote_write = from.remote_write;
    into.remote_atomic = from.remote_atomic;
  };
  if (to == qp_state::init) copy(a, pair);
  else copy(pair, a);
}

}  // namespace

void modify_queue_pair::send(queue_pair& pair, qp_state to, const image<qpc>& context,
                             std::uint32_t optional_fields) {
  to_ = to;
  transition_.restart();
  // The opcodes follow each other, as the states do.
  constexpr auto first = static_cast<unsigned>(opcode::rst2init_qp);
  static_assert(first + 1 == static_cast<unsigned>(opcode::init2rtr_qp) &&
                first + 2 == static_cast<unsigned>(opcode::rtr2rts_qp));
  transition_.aim(static_cast<opcode>(first + static_cast<unsigned>(to) - 1), pair.number);
  transition_.input = {};
  transition_.input.set<&qp_mailbox::opt_param_mask>(optional_fields)
      .set_bytes<&qp_mailbox::context>(context.data());
  start_command(pair, step::modify, transition_, &finished);
}

void modify_queue_pair::start(verbs& owner, qp_handle h, qp_state to,
                              const connection_attributes& a) {
  if (!startable()) return;
  queue_pair* const pair = owner.find(h);
  status s = verbs::usable(pair);
  constexpr std::uint64_t bytes = sizeof a;
  if (s.ok()) s = owner.refused().check(attribute_id::connection_bytes, a.bytes, bytes, bytes);
  if (!s.ok()) return refuse(owner, s);
  if (!is_transition(pair->qp_state, to, pair->state_unknown))
    return refuse(owner, driver_error::bad_state);
  to_ = to;
  const bool nothing_to_do =
      to == qp_state::reset && pair->qp_state == qp_state::reset && !pair->state_unknown;
  if (nothing_to_do) return refuse(owner, {});
  // While it is in doubt whether a completion queue was resized, the completions that a reset drops
  // may be in either ring.
  if (to == qp_state::reset)
    for (const completion_queue* const q : {pair->send_cq, pair->receive_cq})
      if (q != nullptr && q->in_doubt()) return refuse(owner, driver_error::busy);
  if (to == qp_state::reset || to == qp_state::error) {
    plain_.restart();
    plain_.request = {};
    plain_.request.opcode =
        to == qp_state::reset ? commands::to_rst_qp::code : commands::to_err_qp::code;
    if (to == qp_state::reset) commands::to_rst_qp::aim(plain_.request, pair->number);
    else commands::to_err_qp::aim(plain_.request, pair->number);
    // The command is an ordinary change of state and not part of a teardown. It has the same
    // priority as the other transitions.
    plain_.request.lane = lane::bulk;
    return start_command(*pair, step::modify, plain_, &finished);
  }
  image<qpc> c = queue_pair_context(*pair, to);
  std::uint32_t optional = 0;
  connection_attributes values = a;
  keep_those_of_init(*pair, to, values);
  s = write_context(*pair, to, values, c, optional);
  if (!s.ok()) return refuse(owner, s);
  // The context of a queue pair of frames has the port from INIT on.
  if (to == qp_state::rtr || pair->service->path != nullptr) pair->use_port(a.address.port());
  send(*pair, to, c, optional);
}

void modify_queue_pair::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<modify_queue_pair&>(op);
  auto& pair = static_cast<queue_pair&>(self.object());
  pair.moving_to = self.to_;
  if (pair.in_doubt()) {
    // The queue pair may be in RESET, where a posted request never completes.
    pair.state_unknown = true;
    return pair.suspend();
  }
  pair.settle_change(outcome.ok());
  if (outcome.ok() && pair.owner->up()) pair.resume();
}

void queue_pair::settle_change(bool done) {
  state_unknown = false;
  // An event may have reported a later state before the answer.
  const bool is_later = (qp_state == qp_state::error && moving_to != qp_state::reset) ||
                        (qp_state == qp_state::sq_drained && moving_to == qp_state::sq_draining);
  if (done && !is_later) qp_state = moving_to;
  const bool without_path = qp_state == qp_state::init && service->path == nullptr;
  if (qp_state == qp_state::reset || without_path) leave_ports(*owner);
  if (qp_state != qp_state::reset) return;
  // The destruction of a queue pair in RESET needs no command. The firmware refuses to reset it.
  if (state == phase::live) state = phase::blank;
  if (!done) return;
  forget_completions();
  rings.send.reset();
  if (rings.receive.is_open()) rings.receive.reset();
}

void query_queue_pair::start(verbs& owner, qp_handle h) {
  if (!startable()) return;
  queue_pair* const pair = owner.find(h);
  if (const status s = verbs::usable(pair); !s.ok()) return refuse(owner, s);
  if (pair->state == object_record::phase::blank) return refuse(owner, driver_error::bad_state);
  query_.restart();
  query_.aim(pair->number);
  start_command(*pair, step::query, query_, &finished);
}

void query_queue_pair::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<query_queue_pair&>(op);
  auto& pair = static_cast<queue_pair&>(self.object());
  if (!outcome.ok()) return;
  const qp_state now = self.context().get<&qpc::state>();
  if (now != qp_state::error && now != qp_state::sq_error && now != qp_state::sq_drained) return;
  // An event may have come after the answer.
  if (pair.qp_state == qp_state::error) return;
  pair.qp_state = now;
  if (pair.owner->up()) pair.resume();
}

}  // namespace freehca

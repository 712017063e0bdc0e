// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "shared_receive_queues.hpp"

#include <array>

#include <freehca/layouts/doorbell.hpp>

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "command_rules.hpp"
#include "completion_queues.hpp"
#include "event_queues.hpp"
#include "icm.hpp"
#include "limits.hpp"
#include "queue_context.hpp"
#include "transport_parts.hpp"
#include "wqe_reader.hpp"

namespace freehca::model {

using namespace layouts;

namespace {
constexpr std::size_t stride_max = 16u << 7;
}  // namespace

shared_receive_queues::shared_receive_queues(transport::parts& t) : t_(t) {
  if (!offers(t.a.how, capability::shared_receive_queues)) return;
  t.a.commands.on(opcode::sw2hw_srq, [this](command& c) { return software_to_hardware(c); });
  t.a.commands.on(opcode::hw2sw_srq, [this](command& c) { return hardware_to_software(c); });
  t.a.commands.on(opcode::query_srq, [this](command& c) { return query(c); });
  t.a.commands.on(opcode::arm_srq, [this](command& c) { return arm(c); });
}

void shared_receive_queues::clear() {
  t_.a.work.discard(table_);
}

shared_receive_queues::queue* shared_receive_queues::find(std::uint32_t srqn) {
  const auto found = table_.find(srqn);
  return found == table_.end() ? nullptr : &found->second;
}

bool shared_receive_queues::store(std::uint32_t srqn, queue& q) {
  q.context.set<&srqc::limit_watermark>(q.limit)
      .set<&srqc::wqe_counter>(q.counter)
      .set<&srqc::wqe_cnt>(static_cast<std::uint16_t>(q.posted - q.counter));
  return t_.a.context_memory->store(
      t_.a.profile.srqc_base + std::uint64_t{srqn} * entry_bytes::srqc, q.context);
}

command_status shared_receive_queues::software_to_hardware(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  if (srqn >> t_.a.profile.log_srqs != 0) return command_status::bad_index;
  if (srqn < t_.a.limits().reserved_srqs()) return command_status::bad_resource;
  if (find(srqn) != nullptr) return command_status::bad_resource_state;
  static_assert(sizeof(queue) + 64 <= bytes_each);
  if (table_.size() >= limits::objects || !t_.a.kept.has_room(bytes_each))
    return command_status::exceeds_limits;
  queue q;
  if (!c.read_input(q.context)) return command_status::internal_error;
  if (!q.context.reserved_clear() || q.context.get<&srqc::srqn>() != srqn ||
      q.context.get<&srqc::log_srq_size>() > t_.a.limits().log_work_queue_entries ||
      !has_good_page_size(q.context))
    return command_status::bad_parameter;
  if (!t_.a.context_memory->control_entry_mapped(cmpt_type::srq, srqn))
    return command_status::icm_error;
  q.buffer.mtt_base = q.context.get<&srqc::mtt_base_addr>();
  q.buffer.log_page_bytes = static_cast<unsigned>(q.context.get<&srqc::log_page_size>()) + 12;
  q.buffer.page_offset = static_cast<std::uint32_t>(q.context.get<&srqc::page_offset>() * 64);
  q.log_entries = static_cast<unsigned>(q.context.get<&srqc::log_srq_size>());
  q.log_stride = static_cast<unsigned>(q.context.get<&srqc::log_srq_stride>()) + 4;
  q.owner.pd = static_cast<std::uint32_t>(q.context.get<&srqc::pd>());
  q.record = q.context.get<&srqc::db_rec_addr>();
  // A WQE holds its link and one entry at least.
  if (q.log_stride < 5) return command_status::bad_parameter;
  q.context.set<&srqc::state>(srq_state::hardware);
  if (!store(srqn, q)) return command_status::icm_error;
  table_.emplace(srqn, q);
  return command_status::ok;
}

command_status shared_receive_queues::hardware_to_software(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  if (srqn >> t_.a.profile.log_srqs != 0) return command_status::bad_index;
  queue* q = find(srqn);
  if (q == nullptr) return command_status::bad_resource_state;
  if (q->users != 0) return command_status::resource_busy;
  q->context.set<&srqc::state>(srq_state::software);
  if (!store(srqn, *q)) return command_status::icm_error;
  if (writes_context(c) && !c.write_output(q->context)) return command_status::internal_error;
  table_.erase(srqn);
  return command_status::ok;
}

command_status shared_receive_queues::query(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  if (srqn >> t_.a.profile.log_srqs != 0) return command_status::bad_index;
  queue* q = find(srqn);
  if (q == nullptr) return command_status::bad_resource_state;
  read_record(srqn, *q);
  if (!store(srqn, *q)) return command_status::icm_error;
  return c.write_output(q->context) ? command_status::ok : command_status::internal_error;
}

command_status shared_receive_queues::arm(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  if (srqn >> t_.a.profile.log_srqs != 0) return command_status::bad_index;
  queue* q = find(srqn);
  if (q == nullptr) return command_status::bad_resource_state;
  // Linux passes the watermark as the immediate (srq.c mlx4_ARM_SRQ).
  const std::uint64_t limit = c.input_parameter;
  if (limit >= (std::uint64_t{1} << q->log_entries)) return command_status::bad_parameter;
  q->limit = static_cast<std::uint16_t>(limit);
  if (!store(srqn, *q)) return command_status::icm_error;
  check_limit(srqn, *q);
  return command_status::ok;
}

bool shared_receive_queues::read_record(std::uint32_t srqn, queue& q) {
  image<rq_doorbell_record> record;
  const host_memory::about what(t_.a.memory, {dma_kind::srq_record, srqn});
  if (!t_.a.memory.read(q.record, record.data(), record.size())) return false;
  q.posted = static_cast<std::uint16_t>(record.get<&rq_doorbell_record::wqe_counter>());
  return true;
}

void shared_receive_queues::post_event(std::uint32_t srqn, event_type type) {
  image<eqe_srq> e;
  e.set<&eqe_srq::srqn>(srqn);
  t_.a.eqs->post_asynchronous(type, image<eqe>::from_bytes(e.data()));
}

take_result shared_receive_queues::broken(std::uint32_t srqn, queue& q, const char* why) {
  q.broken = true;
  q.context.set<&srqc::state>(srq_state::error);
  store(srqn, q);
  t_.a.rules.complain(rule::receive_queue, "SRQ 0x%06x: %s", srqn, why);
  post_event(srqn, event_type::srq_catastrophic_error);
  return take_result::fault;
}

void shared_receive_queues::check_limit(std::uint32_t srqn, queue& q) {
  if (q.limit == 0) return;
  read_record(srqn, q);
  if (static_cast<std::uint16_t>(q.posted - q.counter) >= q.limit) return;
  q.limit = 0;
  store(srqn, q);
  post_event(srqn, event_type::srq_limit);
}

take_result shared_receive_queues::take(std::uint32_t srqn, receive_request& to) {
  queue* q = find(srqn);
  if (q == nullptr || q->broken) return take_result::fault;
  if (q->posted == q->counter) {
    if (!read_record(srqn, *q)) return broken(srqn, *q, "its doorbell record cannot be read");
    if (q->posted == q->counter) return take_result::empty;
  }
  if (static_cast<std::uint16_t>(q->posted - q->counter) > (1u << q->log_entries))
    return broken(srqn, *q, "more receives posted than it has room for");

  std::array<std::byte, stride_max> wqe;
  const std::size_t stride = std::size_t{1} << q->log_stride;
  const host_memory::about what(t_.a.memory, {dma_kind::srq_wqe, srqn, q->head});
  if (!t_.a.regions->read_queue(q->buffer, std::uint64_t{q->head} << q->log_stride, wqe.data(),
                                stride))
    return broken(srqn, *q, "its buffer cannot be read");
  const auto next =
      image<wqe_srq_next>::from_bytes(wqe.data()).get<&wqe_srq_next::next_wqe_index>();
  if (next >> q->log_entries != 0)
    return broken(srqn, *q, "a WQE links to an index past the queue");

  to = receive_request{};
  to.index = q->head;
  to.shared = true;
  to.srqn = srqn;
  to.owner = q->owner;
  if (!parse_receive(wqe.data() + wqe_srq_next::bytes, stride - wqe_srq_next::bytes, to.data))
    return broken(srqn, *q, "a receive WQE has an inline segment");
  q->head = static_cast<std::uint16_t>(next);
  ++q->counter;
  check_limit(srqn, *q);
  return take_result::taken;
}

std::uint32_t shared_receive_queues::completion_queue(std::uint32_t srqn) const {
  const auto found = table_.find(srqn);
  return found == table_.end()
             ? 0
             : static_cast<std::uint32_t>(found->second.context.get<&srqc::cqn>());
}

std::uint32_t shared_receive_queues::protection_domain(std::uint32_t srqn) const {
  const auto found = table_.find(srqn);
  return found == table_.end() ? 0 : found->second.owner.pd;
}

std::uint32_t shared_receive_queues::xrc_domain(std::uint32_t srqn) const {
  const auto found = table_.find(srqn);
  return found == table_.end()
             ? 0
             : static_cast<std::uint32_t>(found->second.context.get<&srqc::xrcd>());
}

void shared_receive_queues::attach(std::uint32_t srqn) {
  if (queue* q = find(srqn)) ++q->users;
}

void shared_receive_queues::detach(std::uint32_t srqn) {
  queue* q = find(srqn);
  if (q != nullptr && q->users != 0) --q->users;
}

}  // namespace freehca::model

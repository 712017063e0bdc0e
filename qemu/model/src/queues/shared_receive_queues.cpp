// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/shared_receive_queues.hpp"

#include <array>
#include <cstdio>

#include <freehca/layouts/doorbell.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "command/command_rules.hpp"
#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "queues/explanations.hpp"
#include "queues/wqe_reader.hpp"
#include "tables/icm.hpp"
#include "tables/queue_context.hpp"

namespace freehca::model {

using namespace layouts;

namespace {
constexpr std::size_t stride_max = 16u << 7;
}  // namespace

shared_receive_queues::shared_receive_queues(adapter& a) : a_(a) {
  if (!offers(a.how, capability::shared_receive_queues)) return;
  a.commands.on(opcode::sw2hw_srq, [this](command& c) { return software_to_hardware(c); });
  a.commands.on(opcode::hw2sw_srq, [this](command& c) { return hardware_to_software(c); });
  a.commands.on(opcode::query_srq, [this](command& c) { return query(c); });
  a.commands.on(opcode::arm_srq, [this](command& c) { return arm(c); });
}

void shared_receive_queues::queue::refresh() {
  buffer.mtt_base = context.get<&srqc::mtt_base_addr>();
  buffer.log_page_bytes = static_cast<unsigned>(context.get<&srqc::log_page_size>()) + 12;
  buffer.page_offset = static_cast<std::uint32_t>(context.get<&srqc::page_offset>() * 64);
  log_entries = static_cast<unsigned>(context.get<&srqc::log_srq_size>());
  log_stride = static_cast<unsigned>(context.get<&srqc::log_srq_stride>()) + 4;
  owner.pd = static_cast<std::uint32_t>(context.get<&srqc::pd>());
  record = context.get<&srqc::db_rec_addr>();
}

const char* shared_receive_queues::broken_invariant() const {
  // Events have so many bits for the number.
  for (const auto& [srqn, q] : table_)
    if (srqn > eqe_srq{}.srqn.mask()) return "the number of an SRQ has 24 bits";
  return nullptr;
}

void shared_receive_queues::clear() {
  a_.work.discard(table_);
}

shared_receive_queues::queue* shared_receive_queues::find(std::uint32_t srqn) {
  const auto found = table_.find(srqn);
  return found == table_.end() ? nullptr : &found->second;
}

bool shared_receive_queues::store(std::uint32_t srqn, queue& q) {
  q.context.set<&srqc::limit_watermark>(q.limit)
      .set<&srqc::wqe_counter>(q.counter)
      .set<&srqc::wqe_cnt>(static_cast<std::uint16_t>(q.posted - q.counter));
  return a_.context_memory->store(a_.profile.srqc_base + std::uint64_t{srqn} * entry_bytes::srqc,
                                  q.context);
}

command_status shared_receive_queues::software_to_hardware(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  queue q;
  command_checks is(a_.rules);
  is.in_table("SRQ", srqn, a_.profile.log_srqs)
      .not_reserved("SRQ", srqn, a_.limits().reserved_srqs())
      .software_owns(find(srqn) == nullptr, "SRQ", srqn)
      .room_for_one_more(a_.kept, "SRQs", table_.size(), bytes_each)
      .read(c, q.context)
      .no_reserved_bits(q.context, "context")
      .that(q.context.get<&srqc::srqn>() == srqn, rule::own_number, command_status::bad_parameter,
            "srqn 0x%x; the command names 0x%x",
            static_cast<unsigned>(q.context.get<&srqc::srqn>()), srqn)
      .clamp<&srqc::log_srq_size>(rule::srq_size, q.context, a_.limits().log_work_queue_entries)
      .clamp<&srqc::log_page_size>(rule::page_size, q.context, log_page_size_max)
      .that(q.context.get<&srqc::log_srq_stride>() != 0, rule::srq_stride,
            command_status::bad_parameter, "log_srq_stride 0: 16 bytes, which the link takes")
      .lent(a_.context_memory->control_entry_mapped(cmpt_type::srq, srqn), "control entry of SRQ",
            srqn);
  if (is.refused()) return is.status();
  q.context.set<&srqc::srqn>(srqn);
  q.refresh();
  q.context.set<&srqc::state>(srq_state::hardware);
  is.lent(store(srqn, q), "context of SRQ", srqn);
  if (is.refused()) return is.status();
  table_.emplace(srqn, q);
  return command_status::ok;
}

/// The queue that a command names; `is` refuses it where hardware has none.
shared_receive_queues::queue* shared_receive_queues::owned(command_checks& is, std::uint32_t srqn) {
  queue* q = find(srqn);
  is.in_table("SRQ", srqn, a_.profile.log_srqs).hardware_owns(q != nullptr, "SRQ", srqn);
  return q;
}

command_status shared_receive_queues::hardware_to_software(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  command_checks is(a_.rules);
  queue* q = owned(is, srqn);
  if (is.refused()) return is.status();
  is.that(q->users == 0, rule::srq_unused, command_status::resource_busy,
          "SRQ 0x%x has %u queue pairs", srqn, q->users);
  if (is.refused()) return is.status();
  q->context.set<&srqc::state>(srq_state::software);
  is.lent(store(srqn, *q), "context of SRQ", srqn);
  if (writes_context(c)) is.answer(c, q->context);
  if (is.refused()) return is.status();
  table_.erase(srqn);
  return command_status::ok;
}

command_status shared_receive_queues::query(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  command_checks is(a_.rules);
  queue* q = owned(is, srqn);
  if (is.refused()) return is.status();
  read_record(srqn, *q);
  is.lent(store(srqn, *q), "context of SRQ", srqn).answer(c, q->context);
  return is.status();
}

command_status shared_receive_queues::arm(command& c) {
  const std::uint32_t srqn = c.input_modifier;
  command_checks is(a_.rules);
  queue* q = owned(is, srqn);
  if (is.refused()) return is.status();
  // Linux passes the watermark as the immediate (srq.c mlx4_ARM_SRQ).
  const std::uint64_t limit = c.input_parameter;
  is.at_most(rule::srq_limit, "limit", limit, (std::uint64_t{1} << q->log_entries) - 1);
  if (is.refused()) return is.status();
  q->limit = static_cast<std::uint16_t>(limit);
  is.lent(store(srqn, *q), "context of SRQ", srqn);
  if (is.refused()) return is.status();
  check_limit(srqn, *q);
  return command_status::ok;
}

bool shared_receive_queues::read_record(std::uint32_t srqn, queue& q) {
  image<rq_doorbell_record> record;
  const host_memory::about what(a_.memory, {dma_kind::srq_record, srqn});
  if (!a_.memory.read(q.record, record.data(), record.size())) return false;
  q.posted = static_cast<std::uint16_t>(record.get<&rq_doorbell_record::wqe_counter>());
  return true;
}

void shared_receive_queues::post_event(std::uint32_t srqn, event_type type) {
  image<eqe_srq> e;
  e.set<&eqe_srq::srqn>(srqn);
  a_.eqs->post_asynchronous(type, image<eqe>::from_bytes(e.data()));
}

take_result shared_receive_queues::broken(std::uint32_t srqn, queue& q, rule r, const char* why) {
  q.broken = true;
  q.context.set<&srqc::state>(srq_state::error);
  store(srqn, q);
  a_.rules.complain(r, "SRQ 0x%06x: %s", srqn, why);
  a_.rules.because("SRQ 0x%06x: %s", srqn, why);
  char subject[80];
  std::snprintf(subject, sizeof subject, "SRQ 0x%06x: %s", srqn,
                name_of(event_type::srq_catastrophic_error));
  a_.rules.explain(remark_kind::work_error, subject, {entry_of(r).name.data(), why});
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
    if (!read_record(srqn, *q))
      return broken(srqn, *q, rule::receive_queue, "its doorbell record cannot be read");
    if (q->posted == q->counter) return take_result::empty;
  }
  if (static_cast<std::uint16_t>(q->posted - q->counter) > (1u << q->log_entries)) {
    char why[120];
    std::snprintf(why, sizeof why,
                  "its doorbell record counts %u receives, %u of them taken; it holds %u",
                  unsigned{q->posted}, unsigned{q->counter}, 1u << q->log_entries);
    return broken(srqn, *q, rule::receive_record, why);
  }

  std::array<std::byte, stride_max> wqe;
  const std::size_t stride = std::size_t{1} << q->log_stride;
  const host_memory::about what(a_.memory, {dma_kind::srq_wqe, srqn, q->head});
  if (!a_.regions->read_queue(q->buffer, std::uint64_t{q->head} << q->log_stride, wqe.data(),
                              stride))
    return broken(srqn, *q, rule::receive_queue, "its buffer cannot be read");
  const auto next =
      image<wqe_srq_next>::from_bytes(wqe.data()).get<&wqe_srq_next::next_wqe_index>();
  if (next >> q->log_entries != 0) {
    char why[80];
    std::snprintf(why, sizeof why, "entry %u links to %u, past the queue's %u", unsigned{q->head},
                  static_cast<unsigned>(next), 1u << q->log_entries);
    return broken(srqn, *q, rule::receive_chain, why);
  }
  // The entry is being taken: it is not free, and cannot be the next one.
  if (next == q->head && q->log_entries != 0)
    a_.rules.complain(rule::receive_chain, "SRQ 0x%06x: entry %u links to itself", srqn,
                      unsigned{q->head});

  to = receive_request{};
  to.index = q->head;
  to.shared = true;
  to.srqn = srqn;
  to.owner = q->owner;
  if (!parse_receive(wqe.data() + wqe_srq_next::bytes, stride - wqe_srq_next::bytes, to.data))
    return broken(srqn, *q, rule::receive_segments, "a receive WQE has an inline segment");
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

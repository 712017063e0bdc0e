// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands on completion queues.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/register_map.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "command/command_rules.hpp"
#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "queues/uar_users.hpp"
#include "tables/icm.hpp"
#include "tables/queue_context.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::cq_state;
using layouts::cq_status;
using layouts::cqc;
using layouts::opcode;

namespace {

/// iPXE's queues begin as having told (hermon.c hermon_create_cq), Linux's as disarmed.
bool can_begin_in(cq_state s) {
  return s == cq_state::disarmed || s == cq_state::fired || s == cq_state::armed ||
         s == cq_state::armed_solicited;
}

}  // namespace

completion_queues::completion_queues(adapter& a)
    : a_(a), work_(a.work, "completion queues", *this) {
  const auto bound = [this](auto function) {
    return [this, function](command& c) { return (this->*function)(c); };
  };
  const auto on = [this, bound](opcode o, auto handler, auto... continuation) {
    a_.commands.on(o, bound(handler), bound(continuation)...);
  };
  on(opcode::sw2hw_cq, &completion_queues::sw2hw, &completion_queues::continue_sw2hw);
  on(opcode::hw2sw_cq, &completion_queues::hw2sw);
  on(opcode::query_cq, &completion_queues::query);
  on(opcode::modify_cq, &completion_queues::modify, &completion_queues::continue_resize);
  static_assert(sizeof(queue) + 64 + uar_users::bytes_each <= bytes_each);
  a.kept.add_objects(bytes_each, [this] { return owned_.size(); });
  a.counters.add("cqes", written_);
  a.counters.add("completion_events", events_);
  a.counters.add("cq_overruns", overruns_);
}

bool completion_queues::fill(const queue_buffer& where, unsigned log_entries, std::uint32_t first,
                             std::uint32_t& slot, std::uint32_t end) {
  const std::uint32_t entries = 1u << log_entries, stride = a_.profile.cqe_bytes;
  end = std::min(end, entries);
  constexpr std::uint32_t block_bytes = 4096;
  const host_memory::about what(a_.memory, {dma_kind::queue_buffer});
  std::array<std::byte, block_bytes> block;
  const std::uint32_t per_block = block_bytes / stride;
  while (slot < end) {
    const std::uint32_t now = std::min(per_block, end - slot);
    std::memset(block.data(), layouts::cq_initial_byte, block.size());
    for (std::uint32_t i = 0; i < now; ++i) {
      // The number that slot will have when it is written next; its owner bit stands the other way.
      const std::uint32_t number = first + ((slot + i - first) & (entries - 1));
      std::byte* e = block.data() + std::size_t{i} * stride +
                     (stride == layouts::cqe64_bytes ? layouts::cqe64_offset : 0);
      auto image = layouts::image<layouts::cqe>::from_bytes(e);
      image.set<&layouts::cqe::owner>((number & entries) == 0);
      std::memcpy(e, image.data(), image.size());
    }
    if (!a_.regions->write_queue(where, std::uint64_t{slot} * stride, block.data(),
                                 std::size_t{now} * stride))
      return false;
    slot += now;
    a_.account.charge(now / 16 * work_account::entry);
    if (a_.account.slice_over()) break;
  }
  return true;
}

slice_result completion_queues::sw2hw(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  context q;
  command_checks is(a_.rules);
  is.in_table("CQ", cqn, a_.profile.log_cqs)
      .not_reserved("CQ", cqn, a_.limits().reserved_cqs())
      .software_owns(!exists(cqn), "CQ", cqn)
      .room_for_one_more(a_.kept, "CQs", owned_.size(), bytes_each)
      .read(c, q);
  const auto eqn = static_cast<std::uint32_t>(q.get<&cqc::comp_eqn>());
  const bool can_begin = can_begin_in(q.get<&cqc::state>());
  const bool has_clock = offers(a_.how, capability::clock);
  const bool is_lent =
      !is.refused() && a_.context_memory->mapped(context_at(cqn), entry_bytes::cqc);
  is.no_reserved_bits(q, "context")
      .clamp<&cqc::log_cq_size>(rule::cq_size, q, a_.limits().log_cq_entries)
      .clamp<&cqc::log_page_size>(rule::page_size, q, log_page_size_max)
      .that(can_begin, rule::cq_state, command_status::bad_parameter, "state 0x%x",
            static_cast<unsigned>(q.get<&cqc::state>()))
      .in_uar(a_.configuration.uar_pages(), q)
      .that(has_clock || !q.get<&cqc::timestamp>(), rule::capability_reported,
            command_status::bad_parameter, "timestamp, and there is no clock")
      .that(a_.eqs->exists(eqn), rule::eq_exists, command_status::bad_resource,
            "comp_eqn: EQ 0x%x is not in hardware's hands", eqn)
      .lent(is_lent, "context of CQ", cqn)
      .lent(a_.context_memory->control_entry_mapped(layouts::cmpt_type::cq, cqn),
            "control entry of CQ", cqn);
  if (is.refused()) return is.status();
  if (!can_begin) q.set<&cqc::state>(cq_state::disarmed);
  if (!has_clock) q.set<&cqc::timestamp>(false);
  q.set<&cqc::status>(cq_status::ok);
  q.set<&cqc::last_notified_index>(0).set<&cqc::solicit_producer_index>(0);
  q.set<&cqc::consumer_counter>(0).set<&cqc::producer_counter>(0);
  const bool fill_it = c.opcode_modifier ==
                       static_cast<std::uint8_t>(layouts::sw2hw_cq_modifier::hardware_initializes);
  const auto log = static_cast<unsigned>(q.get<&cqc::log_cq_size>());
  c.progress.slot = fill_it ? 0 : 1u << log;
  c.progress.cq_context = q;
  c.progress.context_mapped = is_lent;
  return continue_sw2hw(c);
}

slice_result completion_queues::continue_sw2hw(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  command_progress& p = c.progress;
  const context& q = p.cq_context;
  const auto log = static_cast<unsigned>(q.get<&cqc::log_cq_size>());
  command_checks is(a_.rules);
  // A command that was loaded may name any queue.
  is.in_table("CQ", cqn, a_.profile.log_cqs);
  if (is.refused()) return is.status();
  const bool written = fill(buffer_of(q), log, 0, p.slot);
  is.that(written, rule::buffer_lent, command_status::icm_error,
          "mtt_base_addr 0x%llx: the buffer of CQ 0x%x cannot be written",
          static_cast<unsigned long long>(q.get<&cqc::mtt_base_addr>()), cqn);
  if (written && p.slot >> log == 0) return std::nullopt;
  if (p.context_mapped) is.lent(a_.context_memory->store(context_at(cqn), q), "context of CQ", cqn);
  if (!is.refused()) {
    const auto uar = static_cast<std::uint32_t>(q.get<&cqc::usr_page>());
    owned_[cqn].uar = uar;
    a_.uars.add(uar, uar_users::kind::completion_queue, cqn);
  }
  return is.status();
}

command_status completion_queues::hw2sw(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  const auto known = owned_.find(cqn);
  command_checks is(a_.rules);
  is.in_table("CQ", cqn, a_.profile.log_cqs).hardware_owns(known != owned_.end(), "CQ", cqn);
  if (is.refused()) return is.status();
  const auto users = users_.find(cqn);
  is.that(users == users_.end(), rule::cq_in_use, command_status::resource_busy,
          "CQ 0x%x is the queue of %u work queues", cqn, users == users_.end() ? 0 : users->second);
  if (writes_context(c))
    answer_context(is, c, a_.context_memory->load<cqc>(context_at(cqn)), "context of CQ");
  if (is.refused()) return is.status();
  a_.work.cancel(known->second.moderation);
  a_.uars.remove(known->second.uar, uar_users::kind::completion_queue, cqn);
  owned_.erase(known);
  return command_status::ok;
}

command_status completion_queues::query(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  command_checks is(a_.rules);
  is.in_table("CQ", cqn, a_.profile.log_cqs).hardware_owns(exists(cqn), "CQ", cqn);
  if (is.refused()) return is.status();
  answer_context(is, c, a_.context_memory->load<cqc>(context_at(cqn)), "context of CQ");
  return is.status();
}

slice_result completion_queues::modify(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  command_checks is(a_.rules);
  is.in_table("CQ", cqn, a_.profile.log_cqs).hardware_owns(exists(cqn), "CQ", cqn);
  if (is.refused()) return is.status();
  auto q = a_.context_memory->load<cqc>(context_at(cqn));
  is.lent(q.has_value(), "context of CQ", cqn);
  context in;
  is.read(c, in);
  if (is.refused() || !q) return is.status();
  if (c.opcode_modifier == static_cast<unsigned>(layouts::modify_cq_modifier::resize))
    return resize(c, in);
  q->set<&cqc::cq_max_count>(in.get<&cqc::cq_max_count>())
      .set<&cqc::cq_period>(in.get<&cqc::cq_period>());
  is.lent(a_.context_memory->store(context_at(cqn), *q), "context of CQ", cqn);
  return is.status();
}

slice_result completion_queues::resize(command& c, context in) {
  command_checks is(a_.rules);
  is.clamp<&cqc::log_cq_size>(rule::cq_size, in, a_.limits().log_cq_entries)
      .clamp<&cqc::log_page_size>(rule::page_size, in, log_page_size_max);
  if (is.refused()) return is.status();
  c.progress.cq_context = in;
  return continue_resize(c);
}

/// The old buffer ends with a resize entry; the counters go on in the new one (Linux mlx4_ib
/// mlx4_ib_cq_resize_copy_cqes).
slice_result completion_queues::continue_resize(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  const context& in = c.progress.cq_context;
  std::uint32_t& slot = c.progress.slot;
  std::optional<std::uint32_t>& first = c.progress.first_number;
  command_checks is(a_.rules);
  is.hardware_owns(exists(cqn), "CQ", cqn);  // HW2SW_CQ may have been quicker
  if (is.refused()) return is.status();
  auto loaded = a_.context_memory->load<cqc>(context_at(cqn));
  is.lent(loaded.has_value(), "context of CQ", cqn);
  if (!loaded) return is.status();
  context& q = *loaded;
  const bool sound = q.get<&cqc::status>() == cq_status::ok &&
                     q.get<&cqc::log_cq_size>() <= a_.limits().log_cq_entries;
  is.must(sound, rule::cq_has_no_error, command_status::bad_resource_state,
          "status 0x%x of CQ 0x%x", static_cast<unsigned>(q.get<&cqc::status>()), cqn);
  const auto log = static_cast<unsigned>(in.get<&cqc::log_cq_size>());

  const std::uint64_t record_at = q.get<&cqc::db_rec_addr>();
  layouts::image<layouts::cq_doorbell_record> record;
  const host_memory::about what(a_.memory, {dma_kind::cq_record, cqn});
  is.must(a_.memory.read(record_at, record.data(), record.size()), rule::record_readable,
          command_status::internal_error, "db_rec_addr 0x%llx of CQ 0x%x",
          static_cast<unsigned long long>(record_at), cqn);
  const auto consumer =
      static_cast<std::uint32_t>(record.get<&layouts::cq_doorbell_record::update_ci>());
  const auto producer = static_cast<std::uint32_t>(q.get<&cqc::producer_counter>());
  // The resize entry takes a number of its own.
  const std::uint32_t held = (producer + 1 - consumer) & counter_mask;
  is.that(held <= 1u << log, rule::cq_room, command_status::bad_size,
          "log_cq_size %u has %u entries; %u are not consumed yet, with the one of the resize", log,
          1u << log, held);
  if (is.refused()) return is.status();
  const std::uint32_t wanted = (producer + 1) & counter_mask;
  if (!first) first = wanted;
  bool written = fill(buffer_of(in), log, *first, slot);
  if (written && slot >> log == 0) return std::nullopt;
  // Numbers that have been given away meanwhile: their slots come round again.
  for (; written && first != wanted; first = (*first + 1) & counter_mask) {
    if (a_.account.slice_over()) return std::nullopt;
    std::uint32_t one = *first & ((1u << log) - 1);
    written = fill(buffer_of(in), log, (*first + 1) & counter_mask, one, one + 1);
  }
  is.that(written, rule::buffer_lent, command_status::icm_error,
          "mtt_base_addr 0x%llx: the new buffer cannot be written",
          static_cast<unsigned long long>(in.get<&cqc::mtt_base_addr>()));
  if (is.refused()) return is.status();

  layouts::image<layouts::cqe> last;
  last.set<&layouts::cqe::opcode>(static_cast<std::uint64_t>(layouts::cqe_opcode::resize));
  is.must(append(cqn, q, last), rule::cq_has_no_error, command_status::bad_resource_state,
          "CQ 0x%x is full or cannot be written", cqn);
  if (is.refused()) return is.status();
  q.set<&cqc::log_cq_size>(log).set<&cqc::log_page_size>(in.get<&cqc::log_page_size>());
  q.set<&cqc::mtt_base_addr>(in.get<&cqc::mtt_base_addr>())
      .set<&cqc::page_offset>(in.get<&cqc::page_offset>());
  is.lent(a_.context_memory->store(context_at(cqn), q), "context of CQ", cqn);
  return is.status();
}

}  // namespace freehca::model

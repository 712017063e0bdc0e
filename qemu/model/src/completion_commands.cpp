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

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "command_rules.hpp"
#include "completion_queues.hpp"
#include "event_queues.hpp"
#include "icm.hpp"
#include "limits.hpp"
#include "queue_context.hpp"

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

completion_queues::completion_queues(adapter& a) : a_(a) {
  const auto on = [this](opcode o, command_status (completion_queues::*handler)(command&)) {
    a_.commands.on(o, [this, handler](command& c) { return (this->*handler)(c); });
  };
  on(opcode::sw2hw_cq, &completion_queues::sw2hw);
  on(opcode::hw2sw_cq, &completion_queues::hw2sw);
  on(opcode::query_cq, &completion_queues::query);
  on(opcode::modify_cq, &completion_queues::modify);
  static_assert(sizeof(queue) + 64 <= bytes_each);
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

command_status completion_queues::sw2hw(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  if (cqn >= 1u << a_.profile.log_cqs) return command_status::bad_index;
  if (cqn < a_.limits().reserved_cqs()) return command_status::bad_resource;
  if (exists(cqn)) return command_status::bad_resource_state;
  if (owned_.size() >= limits::objects || !a_.kept.has_room(bytes_each))
    return command_status::exceeds_limits;
  context q;
  if (!c.read_input(q)) return command_status::internal_error;
  if (!q.reserved_clear() || q.get<&cqc::log_cq_size>() > a_.limits().log_cq_entries ||
      !has_good_page_size(q) || !can_begin_in(q.get<&cqc::state>()) || !has_uar_page(a_, q) ||
      (q.get<&cqc::timestamp>() && !offers(a_.how, capability::clock)))
    return command_status::bad_parameter;
  if (!a_.eqs->exists(static_cast<std::uint32_t>(q.get<&cqc::comp_eqn>())))
    return command_status::bad_resource;
  if (!a_.context_memory->mapped(context_at(cqn), entry_bytes::cqc) ||
      !a_.context_memory->control_entry_mapped(layouts::cmpt_type::cq, cqn))
    return command_status::icm_error;
  q.set<&cqc::status>(cq_status::ok);
  q.set<&cqc::last_notified_index>(0).set<&cqc::solicit_producer_index>(0);
  q.set<&cqc::consumer_counter>(0).set<&cqc::producer_counter>(0);
  const bool fill_it = c.opcode_modifier ==
                       static_cast<std::uint8_t>(layouts::sw2hw_cq_modifier::hardware_initializes);
  const auto log = static_cast<unsigned>(q.get<&cqc::log_cq_size>());
  const std::uint32_t filled = fill_it ? 0 : 1u << log;
  return c.in_slices([this, cqn, q, log, slot = filled,
                      epoch = epoch_]() mutable -> std::optional<command_status> {
    if (epoch != epoch_) return command_status::bad_system_state;  // CLOSE_HCA was quicker
    if (!fill(buffer_of(q), log, 0, slot)) return command_status::icm_error;
    if (slot >> log == 0) return std::nullopt;
    if (!a_.context_memory->store(context_at(cqn), q)) return command_status::internal_error;
    owned_.emplace(cqn, queue{});
    return command_status::ok;
  });
}

command_status completion_queues::hw2sw(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  if (cqn >= 1u << a_.profile.log_cqs) return command_status::bad_index;
  const auto known = owned_.find(cqn);
  if (known == owned_.end()) return command_status::bad_resource_state;
  if (writes_context(c)) {
    const auto q = a_.context_memory->load<cqc>(context_at(cqn));
    if (!q) return command_status::icm_error;
    if (!c.write_output(*q)) return command_status::internal_error;
  }
  a_.work.cancel(known->second.moderation);
  owned_.erase(known);
  return command_status::ok;
}

command_status completion_queues::query(command& c) {
  if (c.input_modifier >= 1u << a_.profile.log_cqs) return command_status::bad_index;
  if (!exists(c.input_modifier)) return command_status::bad_resource_state;
  const auto q = a_.context_memory->load<cqc>(context_at(c.input_modifier));
  if (!q) return command_status::icm_error;
  return c.write_output(*q) ? command_status::ok : command_status::internal_error;
}

command_status completion_queues::modify(command& c) {
  const std::uint32_t cqn = c.input_modifier;
  if (cqn >= 1u << a_.profile.log_cqs) return command_status::bad_index;
  if (!exists(cqn)) return command_status::bad_resource_state;
  auto q = a_.context_memory->load<cqc>(context_at(cqn));
  if (!q) return command_status::icm_error;
  switch (static_cast<layouts::modify_cq_modifier>(c.opcode_modifier)) {
    case layouts::modify_cq_modifier::resize:
      return resize(c);
    case layouts::modify_cq_modifier::moderation: {
      context in;
      if (!c.read_input(in)) return command_status::internal_error;
      q->set<&cqc::cq_max_count>(in.get<&cqc::cq_max_count>())
          .set<&cqc::cq_period>(in.get<&cqc::cq_period>());
      return a_.context_memory->store(context_at(cqn), *q) ? command_status::ok
                                                           : command_status::internal_error;
    }
  }
  return command_status::bad_operation;
}

command_status completion_queues::resize(command& c) {
  context in;
  if (!c.read_input(in)) return command_status::internal_error;
  // `first`: the number for which the new buffer is filled; completions that come meanwhile move it on.
  return c.in_slices(
      [this, cqn = c.input_modifier, in, slot = 0u,
       first = std::optional<std::uint32_t>()]() mutable { return resize(cqn, in, slot, first); });
}

/// The old buffer ends with a resize entry; the counters go on in the new one (Linux mlx4_ib
/// mlx4_ib_cq_resize_copy_cqes).
std::optional<command_status> completion_queues::resize(std::uint32_t cqn, const context& in,
                                                        std::uint32_t& slot,
                                                        std::optional<std::uint32_t>& first) {
  if (!exists(cqn)) return command_status::bad_resource_state;  // HW2SW_CQ was quicker
  auto loaded = a_.context_memory->load<cqc>(context_at(cqn));
  if (!loaded) return command_status::icm_error;
  context& q = *loaded;
  const auto log = static_cast<unsigned>(in.get<&cqc::log_cq_size>());
  if (log > a_.limits().log_cq_entries || !has_good_page_size(in))
    return command_status::bad_parameter;
  if (q.get<&cqc::status>() != cq_status::ok ||
      q.get<&cqc::log_cq_size>() > a_.limits().log_cq_entries)
    return command_status::bad_resource_state;

  layouts::image<layouts::cq_doorbell_record> record;
  const host_memory::about what(a_.memory, {dma_kind::cq_record, cqn});
  if (!a_.memory.read(q.get<&cqc::db_rec_addr>(), record.data(), record.size()))
    return command_status::internal_error;
  const auto consumer =
      static_cast<std::uint32_t>(record.get<&layouts::cq_doorbell_record::update_ci>());
  const auto producer = static_cast<std::uint32_t>(q.get<&cqc::producer_counter>());
  // The resize entry takes a number of its own.
  if (((producer + 1 - consumer) & counter_mask) > 1u << log) return command_status::bad_size;
  const std::uint32_t wanted = (producer + 1) & counter_mask;
  if (!first) first = wanted;
  if (!fill(buffer_of(in), log, *first, slot)) return command_status::icm_error;
  if (slot >> log == 0) return std::nullopt;
  // Numbers that have been given away meanwhile: their slots come round again.
  for (; first != wanted; first = (*first + 1) & counter_mask) {
    if (a_.account.slice_over()) return std::nullopt;
    std::uint32_t one = *first & ((1u << log) - 1);
    if (!fill(buffer_of(in), log, (*first + 1) & counter_mask, one, one + 1))
      return command_status::icm_error;
  }

  layouts::image<layouts::cqe> last;
  last.set<&layouts::cqe::opcode>(static_cast<std::uint64_t>(layouts::cqe_opcode::resize));
  if (!append(cqn, q, last)) return command_status::bad_resource_state;
  q.set<&cqc::log_cq_size>(log).set<&cqc::log_page_size>(in.get<&cqc::log_page_size>());
  q.set<&cqc::mtt_base_addr>(in.get<&cqc::mtt_base_addr>())
      .set<&cqc::page_offset>(in.get<&cqc::page_offset>());
  return a_.context_memory->store(context_at(cqn), q) ? command_status::ok
                                                      : command_status::internal_error;
}

}  // namespace freehca::model

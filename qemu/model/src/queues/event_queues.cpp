// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/event_queues.hpp"

#include <algorithm>
#include <cstring>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eq_doorbell.hpp>
#include <freehca/layouts/register_map.hpp>

#include "basis/adapter_limits.hpp"
#include "command/command_checks.hpp"
#include "command/command_rules.hpp"
#include "queues/uar_users.hpp"
#include "tables/icm.hpp"
#include "tables/memory_regions.hpp"
#include "tables/queue_context.hpp"

namespace freehca::model {

using layouts::command_status;
using layouts::eq_state;
using layouts::eq_status;
using layouts::eqc;
using layouts::event_type;
using layouts::opcode;

event_queues::event_queues(adapter& a) : a_(a) {
  of_type_.fill(nobody);
  const auto bound = [this](auto function) {
    return [this, function](command& c) { return (this->*function)(c); };
  };
  const auto on = [this, bound](opcode o, auto handler, auto... continuation) {
    a_.commands.on(o, bound(handler), bound(continuation)...);
  };
  on(opcode::sw2hw_eq, &event_queues::sw2hw, &event_queues::continue_sw2hw);
  on(opcode::hw2sw_eq, &event_queues::hw2sw);
  on(opcode::query_eq, &event_queues::query);
  on(opcode::map_eq, &event_queues::map);
  a.counters.add("event_queues", [this] { return std::count(owned_.begin(), owned_.end(), true); });
  a.counters.add("eqes", posted_);
  a.counters.add("eqes_dropped", dropped_);
  a.counters.add("interrupts", interrupts_);
}

std::uint64_t event_queues::context_at(std::uint32_t eqn) const {
  return a_.profile.eqc_base + std::uint64_t{eqn} * entry_bytes::eqc;
}

const char* event_queues::broken_invariant() const {
  return owned_.size() <= std::size_t{1} << a_.limits().log_eqs ? nullptr
                                                                : "there are not so many EQs";
}

void event_queues::clear() {
  owned_.clear();
  of_type_.fill(nobody);
  clear_interrupt();
}

/// Every entry of a new queue is hardware's; the byte is what Linux names for CQs (cqc.hpp).
bool event_queues::fill_with_hardware_owner(const context& q, std::uint64_t& at) {
  std::byte block[4096];
  const host_memory::about what(a_.memory, {dma_kind::queue_buffer});
  std::memset(block, layouts::cq_initial_byte, sizeof block);
  const std::uint64_t bytes = buffer_bytes(q);
  const queue_buffer where = buffer_of(q);
  while (at < bytes) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - at, sizeof block));
    if (!a_.regions->write_queue(where, at, block, now)) return false;
    at += now;
    if (a_.account.slice_over()) break;
  }
  return true;
}

std::uint64_t event_queues::buffer_bytes(const context& q) const {
  return (std::uint64_t{1} << q.get<&eqc::log_eq_size>()) * a_.profile.eqe_bytes;
}

slice_result event_queues::sw2hw(command& c) {
  const std::uint32_t eqn = c.input_modifier;
  context q;
  command_checks is(a_.rules);
  is.in_table("EQ", eqn, a_.profile.log_eqs)
      .not_reserved("EQ", eqn, a_.limits().reserved_eqs())
      .software_owns(!exists(eqn), "EQ", eqn)
      .read(c, q);
  const eq_state s = q.get<&eqc::state>();
  const bool can_begin =
      s == eq_state::armed || s == eq_state::fired || s == eq_state::always_armed;
  const bool is_lent =
      !is.refused() && a_.context_memory->mapped(context_at(eqn), entry_bytes::eqc);
  is.no_reserved_bits(q, "context")
      .clamp<&eqc::log_eq_size>(rule::eq_size, q, a_.limits().log_eq_entries)
      .at_most<&eqc::intr>(rule::eq_vector, q, layouts::bar0::msix_vectors - 1)
      .clamp<&eqc::log_page_size>(rule::page_size, q, log_page_size_max)
      .that(can_begin, rule::eq_state, command_status::bad_parameter, "state 0x%x",
            static_cast<unsigned>(s))
      .lent(is_lent, "context of EQ", eqn)
      .lent(a_.context_memory->control_entry_mapped(layouts::cmpt_type::eq, eqn),
            "control entry of EQ", eqn);
  if (is.refused()) return is.status();
  if (!can_begin) q.set<&eqc::state>(eq_state::armed);
  q.set<&eqc::status>(eq_status::ok).set<&eqc::consumer_counter>(0).set<&eqc::producer_counter>(0);
  c.progress.eq_context = q;
  c.progress.context_mapped = is_lent;
  return continue_sw2hw(c);
}

slice_result event_queues::continue_sw2hw(command& c) {
  const std::uint32_t eqn = c.input_modifier;
  command_progress& p = c.progress;
  const context& q = p.eq_context;
  command_checks is(a_.rules);
  // A command that was loaded may name any queue.
  is.in_table("EQ", eqn, a_.profile.log_eqs);
  if (is.refused()) return is.status();
  const bool written = fill_with_hardware_owner(q, p.position);
  is.that(written, rule::buffer_lent, command_status::icm_error,
          "mtt_base_addr 0x%llx: the buffer of EQ 0x%x cannot be written",
          static_cast<unsigned long long>(q.get<&eqc::mtt_base_addr>()), eqn);
  if (written && p.position < buffer_bytes(q)) return std::nullopt;
  if (p.context_mapped) is.lent(a_.context_memory->store(context_at(eqn), q), "context of EQ", eqn);
  if (is.refused()) return is.status();
  owned_.resize(std::size_t{1} << a_.profile.log_eqs);
  owned_[eqn] = true;
  a_.uars.add(eqn / layouts::uar::eq_doorbells_per_page, uar_users::kind::event_queue, eqn);
  return command_status::ok;
}

command_status event_queues::hw2sw(command& c) {
  const std::uint32_t eqn = c.input_modifier;
  command_checks is(a_.rules);
  is.in_table("EQ", eqn, a_.profile.log_eqs).hardware_owns(exists(eqn), "EQ", eqn);
  if (is.refused()) return is.status();
  // illumos reads the context back (hermon_cmd.c hermon_cmn_ownership_cmd_post), Linux never.
  if (writes_context(c)) {
    answer_context(is, c, a_.context_memory->load<eqc>(context_at(eqn)), "context of EQ");
    if (is.refused()) return is.status();
  }
  owned_[eqn] = false;
  a_.uars.remove(eqn / layouts::uar::eq_doorbells_per_page, uar_users::kind::event_queue, eqn);
  for (std::uint32_t& e : of_type_)
    if (e == eqn) e = nobody;
  return command_status::ok;
}

command_status event_queues::query(command& c) {
  const std::uint32_t eqn = c.input_modifier;
  command_checks is(a_.rules);
  is.in_table("EQ", eqn, a_.profile.log_eqs).hardware_owns(exists(eqn), "EQ", eqn);
  if (is.refused()) return is.status();
  answer_context(is, c, a_.context_memory->load<eqc>(context_at(eqn)), "context of EQ");
  return is.status();
}

command_status event_queues::map(command& c) {
  const std::uint32_t eqn = c.input_modifier & 0x3ff;
  command_checks is(a_.rules);
  is.that(exists(eqn), rule::eq_exists_for_events, command_status::bad_resource,
          "EQ 0x%x is not in hardware's hands", eqn);
  if (is.refused()) return is.status();
  const bool unmap = (c.input_modifier & layouts::map_eq_unmap) != 0;
  for (unsigned t = 0; t < types; ++t) {
    if ((c.input_parameter >> t & 1) == 0) continue;
    if (!unmap) of_type_[t] = eqn;
    else if (of_type_[t] == eqn) of_type_[t] = nobody;
  }
  return command_status::ok;
}

bool event_queues::post_asynchronous(event_type type, layouts::image<layouts::eqe> e) {
  const auto t = static_cast<unsigned>(type);
  if (t >= types || of_type_[t] == nobody) {
    ++dropped_;
    return false;
  }
  e.set<&layouts::eqe::event_type>(type);
  return post(of_type_[t], e);
}

bool event_queues::post(std::uint32_t eqn, const layouts::image<layouts::eqe>& e) {
  const event_fate fate = judge_ ? judge_(e.get<&layouts::eqe::event_type>()) : event_fate::deliver;
  if (fate == event_fate::lose) return true;
  return put(eqn, e) && (fate != event_fate::twice || put(eqn, e));
}

bool event_queues::put(std::uint32_t eqn, const layouts::image<layouts::eqe>& e) {
  if (!exists(eqn)) {
    ++dropped_;
    return false;
  }
  auto loaded = a_.context_memory->load<eqc>(context_at(eqn));
  if (!loaded) {
    ++dropped_;
    a_.rules.complain(rule::context_stays_mapped, "the context of EQ %u is not mapped any more",
                      eqn);
    return false;
  }
  context& q = *loaded;
  const auto log = static_cast<unsigned>(q.get<&eqc::log_eq_size>());
  const std::uint32_t entries = 1u << (log & 31);
  const auto producer = static_cast<std::uint32_t>(q.get<&eqc::producer_counter>());
  const auto consumer = static_cast<std::uint32_t>(q.get<&eqc::consumer_counter>());
  if (q.get<&eqc::status>() != eq_status::ok || log > a_.limits().log_eq_entries) {
    ++dropped_;
    return false;
  }
  if (((producer - consumer) & counter_mask) >= entries && !q.get<&eqc::oi>()) {
    ++dropped_;
    overflow(eqn, q);
    return false;
  }

  layouts::image<layouts::eqe> out = e;
  out.set<&layouts::eqe::owner>((producer & entries) != 0);
  const queue_buffer where = buffer_of(q);
  const std::uint32_t stride = a_.profile.eqe_bytes;
  const std::uint32_t slot = q.get<&eqc::ec>() ? 0 : producer & (entries - 1);
  const std::uint64_t at =
      std::uint64_t{slot} * stride + layouts::eqe_offset_in_entry(stride == 64);
  // The word with the owner bit goes last: the host looks at it first.
  constexpr std::size_t tail = 8;
  const host_memory::about what(a_.memory, {dma_kind::eqe, eqn, producer});
  if (!a_.regions->write_entry(where, at, out.data(), out.size(), tail)) {
    q.set<&eqc::status>(eq_status::write_failure);
    a_.context_memory->store(context_at(eqn), q);
    ++dropped_;
    a_.rules.complain(rule::eq_reachable, "an entry of EQ %u cannot be written", eqn);
    return false;
  }
  ++posted_;
  if (a_.rules.listened_to(remark_kind::event))
    a_.rules.tell(remark_kind::event, "EQ %u entry %u: type 0x%x", eqn, producer,
                  static_cast<unsigned>(e.get<&layouts::eqe::event_type>()));
  q.set<&eqc::producer_counter>((producer + 1) & counter_mask);
  if (q.get<&eqc::state>() != eq_state::fired) fire(eqn, q);
  a_.context_memory->store(context_at(eqn), q);
  return true;
}

/// Interrupts; leaves storing the context to the caller.
void event_queues::fire(std::uint32_t eqn, context& q) {
  if (q.get<&eqc::state>() == eq_state::armed) q.set<&eqc::state>(eq_state::fired);
  ++interrupts_;
  if (a_.surroundings.msix_enabled()) {
    // The vector was complained of by SW2HW_EQ.
    if (a_.surroundings.bus_master() && q.get<&eqc::intr>() < layouts::bar0::msix_vectors)
      a_.surroundings.msix(static_cast<unsigned>(q.get<&eqc::intr>()));
    return;
  }
  // The adapter's other pins are not connected. No source: that INTA is the pin of QUERY_ADAPTER
  // alone is concluded from the 64 bits of the clear-interrupt register.
  const auto pin = static_cast<unsigned>(q.get<&eqc::intr>());
  if (pin != a_.how.interrupt_pin) {
    a_.rules.complain(rule::eq_vector, "EQ %u interrupts by pin %u without MSI-X, INTA is pin %u",
                      eqn, pin, a_.how.interrupt_pin);
    return;
  }
  intx_asserted_ = true;
  a_.surroundings.intx(true);
}

void event_queues::overflow(std::uint32_t eqn, context& q) {
  q.set<&eqc::status>(eq_status::overflow);
  a_.context_memory->store(context_at(eqn), q);
  a_.rules.complain(rule::eq_has_room, "EQ %u is full", eqn);
  // illumos hermon_hw.h: an operational error. Not to the queue that is full.
  const std::uint32_t to = of_type_[static_cast<unsigned>(event_type::eq_overflow)];
  if (to == nobody || to == eqn) return;
  layouts::image<layouts::eqe_operational_error> e;
  e.set<&layouts::eqe_operational_error::error_type>(layouts::operational_error::eq_overflow);
  e.set<&layouts::eqe_operational_error::data>(eqn);
  post_asynchronous(event_type::eq_overflow, e);
}

void event_queues::doorbell(std::uint32_t uar, unsigned index, std::uint32_t value) {
  const std::uint32_t eqn = uar * layouts::uar::eq_doorbells_per_page + index;
  if (!exists(eqn)) {
    a_.rules.complain(rule::eq_doorbell_owner, "doorbell of EQ %u, which hardware does not own",
                      eqn);
    return;
  }
  auto q = a_.context_memory->load<eqc>(context_at(eqn));
  if (!q) {
    a_.rules.complain(rule::context_stays_mapped, "the context of EQ %u is not mapped any more",
                      eqn);
    return;
  }
  layouts::image<layouts::eq_doorbell> d;
  layouts::store_be(d.data(), value);
  const auto consumer =
      static_cast<std::uint32_t>(d.get<&layouts::eq_doorbell::consumer_counter>());
  const auto producer = static_cast<std::uint32_t>(q->get<&eqc::producer_counter>());
  if (counter_distance(producer, consumer) < 0) {
    a_.rules.complain(rule::eq_consumer_index, "doorbell of EQ %u: consumer %u is past producer %u",
                      eqn, consumer, producer);
    return;
  }
  q->set<&eqc::consumer_counter>(consumer);
  if (d.get<&layouts::eq_doorbell::arm>()) {
    if (q->get<&eqc::state>() == eq_state::fired) q->set<&eqc::state>(eq_state::armed);
    // Entries that the host has not seen interrupt at once: it may have looked before they came.
    if (consumer != producer) fire(eqn, *q);
  }
  a_.context_memory->store(context_at(eqn), *q);
}

void event_queues::clear_interrupt() {
  if (!intx_asserted_) return;
  intx_asserted_ = false;
  a_.surroundings.intx(false);
}

}  // namespace freehca::model

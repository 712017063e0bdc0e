// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps for numbers, interrupts, event queues, and the switch of the command channel to event
// mode. Sources: Linux 6.1 eq.c, main.c mlx4_setup_hca (the NOP self-test).
#include <initializer_list>

#include <freehca/firmware_cmds/eq.hpp>
#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/layouts/mtt.hpp>

#include "steps.hpp"

namespace freehca {

namespace {

// The maximum time from the answer to NOP to the interrupt. No source: chosen.
constexpr std::uint64_t interrupt_limit = clock::milliseconds(200);
constexpr std::uint64_t interrupt_poll = clock::microseconds(100);

}  // namespace

status device::steps::open_numbers(device& d) {
  return d.control_.open_numbers(d.bar2_, d.capabilities_);
}

status device::steps::close_numbers(device& d) {
  if (d.sequence_.has(bring_up_step::open_numbers)) d.control_.close_numbers();
  return {};
}

status device::steps::arm_interrupts(device& d) {
  const freehca::platform& p = d.setup_.platform;
  d.info_.interrupts_work = false;
  if (!d.setup_.use_interrupts || p.operations->arm_interrupts == nullptr) return {};
  // Arm as many vectors as there are. The completion event queues share the vectors after the first
  // one. If there is only one vector, all queues share it.
  unsigned vectors = 1 + d.setup_.budget.completion_event_queues;
  status armed;
  do {
    // Store before the call, because the first interrupt may come inside it.
    d.vectors_.store(vectors, std::memory_order_relaxed);
    armed = p.operations->arm_interrupts(p.context, vectors, &device::on_notify, &d);
  } while (armed.is(driver_error::unsupported) && --vectors != 0);
  d.interrupts_armed_ = armed.ok();
  d.info_.interrupt_vectors = armed.ok() ? vectors : 0;
  return {};
}

status device::steps::disarm_interrupts(device& d) {
  const freehca::platform& p = d.setup_.platform;
  if (d.interrupts_armed_ && p.operations->disarm_interrupts != nullptr)
    p.operations->disarm_interrupts(p.context);
  d.interrupts_armed_ = false;
  d.info_.interrupts_work = false;
  d.info_.interrupt_vectors = 0;
  return {};
}

/// Writes the translation of a ring into the memory of the MTT table, as the hardware requires.
status device::steps::write_translation(device& d, const event_queue_parts& q) {
  using layouts::mtt;
  for (std::uint32_t i = 0; i < q.mtts; ++i) {
    const dma_region entry = d.control_.contexts.memory(context_table::mtt, q.first_mtt + i);
    if (entry.bytes < mtt::bytes) return driver_error::bad_state;
    const auto e = layouts::image<mtt>()
                       .set<&mtt::ptag>(q.ring.device_address + std::uint64_t{i} * dma_arena::page)
                       .set<&mtt::present>(true);
    cache::invalidate(entry.host, mtt::bytes);
    dma::store_be64(entry.host, layouts::load_be<std::uint64_t>(e.data()));
    cache::clean(entry.host, mtt::bytes);
  }
  barrier::dma_store_to_dma_store();
  return {};
}

/// Puts the number and the ring of a queue at risk of the command of the last make(). The device
/// may still use both if the command is not answered.
void device::steps::put_at_risk(device& d, const event_queue_parts& q) {
  d.event_queue_at_risk_.set_amount(lease_kind::buffer, q.mtts);
  d.sequence_.last().put_at_risk(d.event_queue_at_risk_);
}

status device::steps::create_event_queues(device& d) {
  enum : unsigned { begin, translate, create, created };
  const budget& b = d.setup_.budget;
  const unsigned count = 1 + b.completion_event_queues;
  const unsigned entry_bytes = d.capabilities_.eqe_bytes;
  while (d.sequence_.item < count) {
    event_queue_parts& q = d.queue_parts_[d.sequence_.item];
    const unsigned log_entries = d.sequence_.item == 0 ? device_plan::log_asynchronous_eq_entries(b)
                                                       : device_plan::log_completion_eq_entries(b);
    switch (d.sequence_.phase) {
      case begin: {
        q = {};
        const result<dma_region> ring =
            d.control_.arena.allocate(queues::eq::ring_bytes(log_entries, entry_bytes));
        if (!ring.ok()) return ring.error();
        q.ring = ring.value();
        const result<std::uint32_t> eqn = d.control_.numbers.eqs.allocate();
        if (!eqn.ok()) return eqn.error();
        q.eqn = eqn.value();
        q.numbered = true;
        const auto pages = static_cast<std::uint32_t>(q.ring.bytes / dma_arena::page);
        const result<std::uint32_t> first = d.control_.numbers.mtts.allocate(pages);
        if (!first.ok()) return first.error();
        q.first_mtt = first.value();
        q.mtts = pages;
        q.translated = true;
        d.requests_[0].restart();
        d.control_.contexts.map(d.requests_[0], context_group::mtt, q.first_mtt, q.mtts);
        return await(d, translate, d.requests_[0]);
      }
      case translate: {
        q.mapped = true;
        FREEHCA_TRY(write_translation(d, q));
        queues::eq_resources ring;
        ring.ring = q.ring;
        ring.log_entries = log_entries;
        ring.entry_bytes = entry_bytes;
        ring.doorbell = d.control_.uars.eq_doorbell(q.eqn);
        event_context& e = d.events_[d.sequence_.item];
        const unsigned vector = d.vector_of(d.sequence_.item);
        FREEHCA_TRY(e.open(q.eqn, vector, d.is_shared(vector), ring,
                           d.sequence_.item == 0 ? &d.control_.commands : nullptr));
        d.connect_events(e);
        using l = layouts::eqc;
        auto& c = d.sequence_.make<commands::sw2hw_eq>(q.eqn);
        c.input.set<&l::status>(layouts::eq_status::ok)
            .set<&l::state>(d.interrupts_armed_ ? layouts::eq_state::armed
                                                : layouts::eq_state::fired)
            .set<&l::log_eq_size>(log_entries)
            .set<&l::intr>(d.interrupts_armed_ ? vector : 0)
            .set<&l::mtt_base_addr>(d.control_.contexts.translation_offset(q.first_mtt));
        put_at_risk(d, q);
        return send_with_effect(d, created, q.created);
      }
      default: {
        d.sequence_.phase = begin;
        ++d.sequence_.item;
      }
    }
  }
  d.completion_contexts_ = b.completion_event_queues;
  return {};
}

status device::steps::destroy_event_queues(device& d) {
  enum : unsigned { begin, destroyed, unmapped };
  d.completion_contexts_ = 0;
  while (d.sequence_.item < 1 + d.setup_.budget.completion_event_queues) {
    event_queue_parts& q = d.queue_parts_[d.sequence_.item];
    switch (d.sequence_.phase) {
      case begin:
        if (q.created) {
          d.events_[d.sequence_.item].end_arming();
          d.sequence_.make<commands::hw2sw_eq>(q.eqn);
          put_at_risk(d, q);
          return send(d, destroyed);
        }
        d.sequence_.phase = destroyed;
        break;
      case destroyed:
        q.created = false;
        d.events_[d.sequence_.item].close();
        d.sequence_.phase = unmapped;
        if (q.mapped) {
          q.mapped = false;
          d.requests_[0].restart();
          d.control_.contexts.unmap(d.requests_[0], context_group::mtt, q.first_mtt, q.mtts);
          d.sequence_.await(d.requests_[0]);
          return wait;
        }
        break;
      default:
        if (q.translated) d.control_.numbers.mtts.free(q.first_mtt, q.mtts);
        if (q.numbered) d.control_.numbers.eqs.free(q.eqn);
        if (q.ring.bytes != 0) d.control_.arena.free(q.ring);
        q = {};
        d.sequence_.phase = begin;
        ++d.sequence_.item;
    }
  }
  return {};
}

std::uint64_t device::steps::event_mask(const device& d) {
  using type = layouts::event_type;
  constexpr auto bit = [](type t) { return std::uint64_t{1} << static_cast<unsigned>(t); };
  constexpr std::uint64_t always = [bit] {
    std::uint64_t mask = 0;
    for (const type t :
         {type::path_migrated, type::communication_established, type::sq_drained, type::cq_error,
          type::wq_catastrophic_error, type::path_migration_failed, type::local_catastrophic_error,
          type::port_change, type::command_completion, type::ecc_detect, type::eq_overflow,
          type::wq_invalid_request_error, type::wq_access_violation, type::srq_catastrophic_error,
          type::srq_last_wqe, type::srq_limit, type::fatal_warning})
      mask |= bit(t);
    return mask;
  }();
  if (d.capabilities_.has(layouts::dev_cap_flag::port_management_change_event))
    return always | bit(type::port_management_change);
  return always;
}

status device::steps::map_events(device& d) {
  d.sequence_.make<commands::map_eq>(d.events_[0].eqn(), event_mask(d));
  return send_with_effect(d, over, d.sequence_.partly);
}

status device::steps::unmap_events(device& d) {
  if (!d.sequence_.device_has(bring_up_step::map_events)) return {};
  d.sequence_.make<commands::unmap_eq>(d.events_[0].eqn(), event_mask(d));
  return send(d, over);
}

status device::steps::use_events(device& d) {
  enum : unsigned { begin, answered, fired };
  switch (d.sequence_.phase) {
    case begin:
      d.control_.commands.use_events(d.info_.most_commands);
      d.sequence_.make<commands::nop>();
      return send(d, answered);
    case answered:
      d.sequence_.patience = clock::after(d.setup_.platform.now(), interrupt_limit);
      d.sequence_.phase = fired;
      [[fallthrough]];
    default:
      // The driver found the answer in the ring. The interrupt is tested separately. Bring-up
      // succeeds without it.
      d.info_.interrupts_work = d.interrupts_armed_ && d.events_[0].statistics().interrupts > 0;
      if (!d.info_.interrupts_work && d.interrupts_armed_ &&
          d.setup_.platform.now() < d.sequence_.patience)
        return later(d, interrupt_poll);
      return {};
  }
}

status device::steps::use_polling(device& d) {
  // Events end the commands in flight. The commands must be over before the event queue is
  // destroyed.
  if (d.control_.commands.is_open() && d.control_.commands.in_flight() > 0) return later(d, 0);
  if (d.control_.commands.is_open()) d.control_.commands.use_polling();
  return {};
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The steps for numbers, interrupts, event queues, and the switch of the command channel to event
// mode. Sources: Linux 6.1 eq.c, main.c mlx4_setup_hca (the NOP self-test).
#include <initializer_list>

#include <freehca/firmware_cmds/eq.hpp>
#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/layouts/bit_operations.hpp>

#include <freehca/hca/device_watch.hpp>

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
  if (!d.setup_.use_interrupts) return {};
  // Arm as many vectors as there are. The completion event queues share the vectors after the first
  // one. If there is only one vector, all queues share it.
  unsigned vectors = 1 + d.setup_.budget.completion_event_queues;
  status armed = driver_error::unsupported;
  if (p.operations->arm_interrupts != nullptr) {
    do {
      // Store before the call, because the first interrupt may come inside it.
      d.vectors_.store(vectors, std::memory_order_relaxed);
      armed = p.operations->arm_interrupts(p.context, vectors, &device::on_notify, &d);
    } while (armed.is(driver_error::unsupported) && --vectors != 0);
  }
  if (!armed.ok() && d.clear_interrupt_.load(std::memory_order_relaxed) != nullptr &&
      p.operations->arm_line_interrupt != nullptr) {
    // Linux 6.1 eq.c mlx4_init_eq_table: event queues have the pin in place of the vector.
    d.vectors_.store(vectors = 1, std::memory_order_relaxed);
    armed = p.operations->arm_line_interrupt(p.context, &device::on_line_notify, &d);
    d.info_.line_interrupt = armed.ok();
  }
  d.info_.interrupt_vectors = armed.ok() ? vectors : 0;
  return {};
}

status device::steps::disarm_interrupts(device& d) {
  const freehca::platform& p = d.setup_.platform;
  if (d.info_.interrupt_vectors != 0 && p.operations->disarm_interrupts != nullptr)
    p.operations->disarm_interrupts(p.context);
  d.info_.interrupts_work = d.info_.line_interrupt = false;
  d.info_.interrupt_vectors = 0;
  return {};
}

/// Creates the event queues. Their numbers follow those that the firmware keeps. Each ring is
/// aligned to its size and has one translation entry.
status device::steps::create_event_queues(device& d) {
  const budget& b = d.setup_.budget;
  const device_plan plan(b);
  unsigned& item = d.sequence_.item;
  for (; item <= b.completion_event_queues; ++item) {
    if (d.sequence_.phase != 0) {
      d.sequence_.phase = 0;
      continue;
    }
    const unsigned log_entries = item == 0 ? device_plan::log_asynchronous_eq_entries(b)
                                           : device_plan::log_completion_eq_entries(b);
    const std::size_t bytes = queues::eq::ring_bytes(log_entries, d.capabilities_.eqe_bytes);
    const std::size_t at = item == 0 ? plan.asynchronous_ring
                                     : plan.event_rings + (item - 1) * plan.completion_ring_bytes;
    queues::eq_resources ring;
    ring.ring = d.control_.block().part(at, bytes < dma_arena::page ? dma_arena::page : bytes);
    ring.log_entries = log_entries;
    ring.entry_bytes = d.capabilities_.eqe_bytes;
    const std::uint32_t eqn = d.capabilities_.reserved_eqs + item;
    const std::uint32_t translation =
        number_spaces::event_ring_mtt(d.capabilities_.reserved_mtts, item);
    const unsigned log_page = layouts::lowest_bit(ring.ring.bytes);
    ring.doorbell = d.control_.uars.eq_doorbell(eqn);
    d.control_.contexts.write_translations(translation, 1, page_list(ring.ring, log_page));
    event_context& e = d.events_[item];
    const unsigned vector = d.vector_of(item);
    FREEHCA_TRY(
        e.open(eqn, vector, d.is_shared(vector), ring, item == 0 ? &d.control_.commands : nullptr));
    d.connect_events(e);
    using l = layouts::eqc;
    auto& c = d.sequence_.make<commands::sw2hw_eq>(eqn);
    c.input.set<&l::status>(layouts::eq_status::ok)
        .set<&l::state>(d.info_.interrupt_vectors != 0 ? layouts::eq_state::armed
                                                       : layouts::eq_state::fired)
        .set<&l::log_eq_size>(log_entries)
        .set<&l::intr>(d.info_.line_interrupt ? d.interrupt_pin_.load(std::memory_order_relaxed)
                                              : vector)
        .set<&l::log_page_size>(log_page - 12)
        .set<&l::mtt_base_addr>(d.control_.contexts.translation_offset(translation));
    d.event_queue_at_risk_.set_amount(lease_kind::buffer, 1);
    c.put_at_risk(d.event_queue_at_risk_);
    return d.sequence_.send_with_effect(1, d.event_queue_exists_[item]);
  }
  d.completion_contexts_ = b.completion_event_queues;
  return {};
}

status device::steps::destroy_event_queues(device& d) {
  d.completion_contexts_ = 0;
  unsigned& item = d.sequence_.item;
  for (; item <= d.setup_.budget.completion_event_queues; ++item) {
    event_context& e = d.events_[item];
    if (d.sequence_.phase == 0 && d.event_queue_exists_[item]) {
      e.end_arming();
      d.sequence_.make<commands::hw2sw_eq>(e.eqn()).put_at_risk(d.event_queue_at_risk_);
      return d.sequence_.send(1);
    }
    d.sequence_.phase = 0;
    d.event_queue_exists_[item] = false;
    e.close();
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
  const std::uint64_t watched = d.watch_ != nullptr ? d.watch_->events : 0;
  if (d.capabilities_.has(layouts::dev_cap_flag::port_management_change_event))
    return always | watched | bit(type::port_management_change);
  return always | watched;
}

status device::steps::map_events(device& d) {
  d.sequence_.make<commands::map_eq>(d.events_[0].eqn(), event_mask(d));
  return d.sequence_.send_with_effect(over, d.sequence_.partly);
}

status device::steps::unmap_events(device& d) {
  if (!d.sequence_.device_has(bring_up_step::map_events)) return {};
  d.sequence_.make<commands::unmap_eq>(d.events_[0].eqn(), event_mask(d));
  return d.sequence_.send(over);
}

status device::steps::use_events(device& d) {
  enum : unsigned { begin, answered, fired };
  switch (d.sequence_.phase) {
    case begin:
      d.control_.commands.use_events(d.info_.most_commands);
      d.sequence_.make<commands::nop>();
      return d.sequence_.send(answered);
    case answered:
      d.sequence_.patience = clock::after(d.setup_.platform.now(), interrupt_limit);
      d.sequence_.phase = fired;
      [[fallthrough]];
    default:
      // The driver found the answer in the ring. The interrupt is tested separately. Bring-up
      // succeeds without it.
      if (d.info_.interrupt_vectors == 0) return {};
      d.info_.interrupts_work = d.events_[0].statistics().interrupts > 0;
      if (!d.info_.interrupts_work && d.setup_.platform.now() < d.sequence_.patience)
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

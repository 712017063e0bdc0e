// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_control.hpp>

#include <initializer_list>
#include <new>

#include <freehca/hal/storage.hpp>

#include <freehca/hca/device_plan.hpp>

namespace freehca {

status device_control::open(const budget& b, const platform& p, std::byte* storage) {
  const device_plan plan(b);
  FREEHCA_TRY(p.operations->allocate_dma(p.context, plan.dma_bytes, plan.alignment, &block_));
  // The rings of the event queues and their translation entries depend on the alignment.
  status s = block_.device_address % plan.alignment == 0
                 ? status()
                 : status(driver_error::bad_argument, static_cast<unsigned>(budget::item::dma));
  budget_ = &b;
  platform_ = &p;
  storage_ = storage;
  areas = block_.part(plan.areas, plan.context_memory - plan.areas);
  if (s.ok())
    s = arena.open(block_.part(0, plan.arena_bytes), dma_arena::page, storage + plan.arena,
                   dma_arena::storage_bytes_for(plan.arena_bytes),
                   static_cast<unsigned>(budget::item::queue_memory));
  if (s.ok())
    s = doorbells.open(block_.part(plan.doorbells, b.doorbell_bytes), 64,
                       storage + plan.doorbell_arena,
                       dma_arena::storage_bytes_for(b.doorbell_bytes, 64),
                       static_cast<unsigned>(budget::item::doorbell_records));
  if (!s.ok()) {
    if (arena.is_open()) arena.close();
    p.operations->free_dma(p.context, block_);
    return s;
  }
  numbers.keys.open(storage + plan.keys, 1u << b.log_mpts);
  using entry = layouts::image<layouts::map_entry>;
  area_entries = storage_for<entry>(storage + plan.area_entries);
  for (unsigned i = 0; i < layouts::map_entries_per_mailbox; ++i) new (&area_entries[i]) entry;
  return {};
}

void device_control::close() {
  arena.close();
  doorbells.close();
  platform_->operations->free_dma(platform_->context, block_);
  block_ = {};
}

status device_control::open_commands(const mmio_region& hcr) {
  const device_plan plan(*budget_);
  channel_resources r;
  r.hcr = hcr;
  r.mailboxes = block_.part(plan.mailboxes, channel::mailbox_bytes_for(budget_->command_slots));
  r.storage = storage_ + plan.slots;
  r.storage_bytes = channel::storage_bytes_for(budget_->command_slots);
  r.slots = budget_->command_slots;
  r.platform = *platform_;
  FREEHCA_TRY(commands.open(r));
  commands.admit_clients(false);
  return {};
}

status device_control::open_contexts(const capabilities& can) {
  FREEHCA_TRY(layout.plan(*budget_, can));
  if (contexts.is_open()) return {};
  const device_plan plan(*budget_);
  return contexts.open(*budget_, layout, *platform_, commands,
                       block_.part(plan.context_memory, plan.context_bytes),
                       storage_ + plan.contexts);
}

status device_control::open_numbers(const mmio_region& pages, const capabilities& can) {
  const budget& b = *budget_;
  const device_plan plan(b);
  std::byte* const s = storage_;
  numbers.qps.open(s + plan.qps, can.reserved_qps, 1u << b.log_qps, 0, budget::item::qps);
  numbers.srqs.open(s + plan.srqs, can.reserved_srqs, 1u << b.log_srqs, 0, budget::item::srqs);
  numbers.cqs.open(s + plan.cqs, can.reserved_cqs, 1u << b.log_cqs, 0, budget::item::cqs);
  numbers.qps.keep_owners();
  numbers.srqs.keep_owners();
  numbers.cqs.keep_owners();
  const std::uint32_t event_queues = 1 + b.completion_event_queues;
  numbers.eqs.open(s + plan.eqs, can.reserved_eqs + event_queues, 1u << b.log_eqs, 0,
                   budget::item::eqs);
  numbers.mpts.open(s + plan.mpts, can.reserved_mpts, 1u << b.log_mpts, 0, budget::item::mpts);
  numbers.mtts.open(s + plan.mtts, number_spaces::event_ring_mtt(can.reserved_mtts, event_queues),
                    1u << b.log_mtts, number_spaces::log_mtt_unit, budget::item::mtts);
  const unsigned log_pds =
      can.log_most_pds < device_plan::log_pds ? can.log_most_pds : device_plan::log_pds;
  numbers.pds.open(s + plan.pds, can.reserved_pds, 1u << log_pds, 0, budget::item::pds);
  uars.open(pages, static_cast<unsigned>(can.raw.get<&layouts::query_dev_cap::uar_sz>()),
            can.reserved_uars,
            can.log_blueflame_bytes != 0 && platform_->operations->combines_writes, s + plan.uars);
  const result<uar_page> page = uars.allocate();
  if (!page.ok()) return page.error();
  uar = page.value();
  return {};
}

void device_control::close_numbers() {
  uars.free(uar);
  uar = {};
  number_spaces& n = numbers;
  n.qps.close();
  n.srqs.close();
  n.cqs.close();
  n.eqs.close();
  n.mpts.close();
  n.mtts.close();
  n.pds.close();
  uars.close();
}

bool device_control::held_by_users(std::uint64_t objects_of_its_own) const {
  const number_spaces& n = numbers;
  return commands.in_doubt(lease_kind::slot) > 0 || contexts.objects_held() > objects_of_its_own ||
         n.qps.out() + n.srqs.out() + n.cqs.out() + n.eqs.out() + n.mpts.out() + n.pds.out() > 0;
}

device_holdings device_control::holdings() const {
  device_holdings h;
  const number_spaces& n = numbers;
  h.pages = (arena.bytes_out() + contexts.arena().bytes_out()) / dma_arena::page;
  h.mappings = contexts.blocks_lent();
  h.slots = commands.slots_in_use();
  h.numbers = std::uint64_t{n.qps.out()} + n.srqs.out() + n.cqs.out() + n.eqs.out() + n.mpts.out() +
              n.pds.out() + n.mtts.out() + uars.out();
  h.doorbells = doorbells.bytes_out();
  h.pages_in_doubt = commands.in_doubt(lease_kind::page);
  h.mappings_in_doubt = commands.in_doubt(lease_kind::mapping);
  h.numbers_in_doubt = commands.in_doubt(lease_kind::number);
  h.buffers_in_doubt = commands.in_doubt(lease_kind::buffer);
  h.mailboxes_in_doubt = commands.in_doubt(lease_kind::mailbox);
  h.slots_in_doubt = commands.in_doubt(lease_kind::slot);
  return h;
}

}  // namespace freehca

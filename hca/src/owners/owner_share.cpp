// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/owners/owner_share.hpp>

namespace freehca {

void owner_share::open(const budget& d, const verbs_budget& objects, const share_budget& s,
                       std::byte* storage) {
  size_ = s;
  struct space {
    number_allocator number_spaces::*numbers;
    budget::item what;
    unsigned log_numbers, log_unit;
  };
  const unsigned log_mtts = number_spaces::log_mtt_unit;
  const space all[spaces] = {
      {&number_spaces::qps, budget::item::qps, d.log_qps, 0},
      {&number_spaces::srqs, budget::item::srqs, d.log_srqs, 0},
      {&number_spaces::cqs, budget::item::cqs, d.log_cqs, 0},
      {&number_spaces::mpts, budget::item::mpts, d.log_mpts, 0},
      {&number_spaces::pds, budget::item::pds, device_plan::log_pds, 0},
      {&number_spaces::mtts, budget::item::mtts, d.log_mtts - log_mtts, log_mtts},
  };
  for (unsigned i = 0; i < spaces; ++i) {
    const space& a = all[i];
    std::uint32_t count = a.log_unit != 0 ? s.translations : 0;
    for (const verbs_budget::entry& e : objects.kinds)
      if (e.what != nullptr && e.what->facts.numbers == a.numbers) count += e.count;
    ranges_[i] = {a.numbers, a.what, a.log_unit, 0, count, storage};
    storage += detail::bitmap_bytes(a.log_numbers);
  }
  arena_storage_ = storage;
  doorbell_storage_ = storage + detail::arena_bitmap_bytes(s.queue_bytes, dma_arena::page);
}

status owner_share::take_memory(device_control& from) {
  const result<dma_region> rings = from.arena.allocate_ring(size_.queue_bytes);
  if (!rings.ok()) return rings.error();
  const result<dma_region> records = from.doorbells.allocate(size_.doorbell_bytes);
  status s = records.ok() ? status() : records.error();
  if (s.ok())
    s = arena.open(rings.value(), dma_arena::page, arena_storage_,
                   dma_arena::storage_bytes_for(size_.queue_bytes),
                   static_cast<unsigned>(budget::item::queue_memory));
  if (s.ok()) {
    s = doorbells.open(records.value(), 64, doorbell_storage_,
                       dma_arena::storage_bytes_for(size_.doorbell_bytes, 64),
                       static_cast<unsigned>(budget::item::doorbell_records));
    if (!s.ok()) arena.close();
  }
  if (s.ok()) {
    queue_memory_ = rings.value();
    doorbell_memory_ = records.value();
    return {};
  }
  from.arena.free(rings.value());
  if (records.ok()) from.doorbells.free(records.value());
  return s;
}

void owner_share::give_memory_back(device_control& to) {
  arena.close();
  doorbells.close();
  to.arena.free(queue_memory_);
  to.doorbells.free(doorbell_memory_);
}

status owner_share::take_numbers(device_control& from) {
  const result<uar_page> page = from.uars.allocate();
  if (!page.ok()) return page.error();
  for (unsigned i = 0; i < spaces; ++i) {
    range& r = ranges_[i];
    if (r.count == 0) continue;
    const result<std::uint32_t> first = (from.numbers.*r.space).allocate(r.count);
    if (first.ok()) {
      r.first = first.value();
      continue;
    }
    while (i-- > 0)
      if (ranges_[i].count != 0)
        (from.numbers.*ranges_[i].space).free(ranges_[i].first, ranges_[i].count);
    from.uars.free(page.value());
    return first.error();
  }
  uar = page.value();
  return {};
}

void owner_share::give_numbers_back(device_control& to) {
  for (const range& r : ranges_)
    if (r.count != 0) (to.numbers.*r.space).free(r.first, r.count);
  to.uars.free(uar);
}

bool owner_share::has(number_allocator number_spaces::*space, std::uint32_t number) const {
  for (const range& r : ranges_)
    if (r.space == space) return number - r.first < r.count;
  return false;
}

void owner_share::begin() {
  for (const range& r : ranges_)
    (numbers.*r.space).open(r.storage, r.first, r.first + r.count, r.log_unit, r.what);
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The resources of objects. Only this file gives them back.
#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

namespace {

/// The filter for the allocation of numbers. It skips numbers whose block of context memory is in
/// doubt, or whose block the device did not give back.
struct usable_numbers {
  const context_tables& tables;
  context_group group;

  number_filter filter() const {
    return {[](const void* from, std::uint32_t first, std::uint32_t count) {
              const auto& self = *static_cast<const usable_numbers*>(from);
              return self.tables.first_usable(self.group, first, count);
            },
            this};
  }
};

status get(const result<dma_region>& from, dma_region& to) {
  if (!from.ok()) return from.error();
  to = from.value();
  return {};
}

}  // namespace

result<object_record*> verbs::take(const kind& what) {
  expect_own_thread();
  if (!up()) return status(driver_error::bad_state);
  slab* const objects = slab_of(what);
  if (objects == nullptr) return status(driver_error::unsupported, what.facts.item);
  object_record* const object = objects->take();
  if (object == nullptr) return status(driver_error::no_resource, what.facts.item);
  object->state = object_record::phase::creating;
  return object;
}

status verbs::take_number(object_record& object) {
  const kind& what = *object.what;
  const usable_numbers with_context{device_->contexts(), what.facts.group};
  const number_filter filter = with_context.filter();
  const result<std::uint32_t> number =
      (source_.numbers->*what.facts.numbers)
          .allocate(1, 1, what.is_device_object && source_.filtered ? &filter : nullptr);
  if (!number.ok()) return number.error();
  object.number = number.value();
  return {};
}

status verbs::take_translations(device_object& object, std::size_t pages) {
  if (pages > ~std::uint32_t{0}) return driver_error::bad_argument;
  const auto count = static_cast<std::uint32_t>(pages);
  const usable_numbers with_context{device_->contexts(), context_group::mtt};
  const number_filter filter = with_context.filter();
  const result<std::uint32_t> first =
      source_.numbers->mtts.allocate(count, 1, source_.filtered ? &filter : nullptr);
  if (!first.ok()) return first.error();
  object.translations = first.value();
  object.translation_count = count;
  object.at_risk.set_amount(lease_kind::mapping, count);
  object.at_risk.set_amount(lease_kind::buffer, count);
  return {};
}

status verbs::take_rings(queue_object& object, std::size_t ring_bytes, std::size_t record_bytes,
                         std::size_t requests, page_list& pages) {
  if (requests != 0)
    FREEHCA_TRY(get(requests_.allocate(requests * sizeof(queues::posted_request)), object.slots));
  // A ring that is aligned to its size needs one translation entry (Linux 6.1 alloc.c
  // mlx4_buf_direct_alloc). A larger alignment than the size is a multiple of would leave gaps
  // between the rings.
  dma_arena& arena = *source_.arena;
  if (!get(arena.allocate(ring_bytes, ring_bytes & (~ring_bytes + 1)), object.ring).ok())
    FREEHCA_TRY(get(arena.allocate(ring_bytes), object.ring));
  if (record_bytes != 0) FREEHCA_TRY(get(source_.doorbells->allocate(record_bytes), object.record));
  object.log_page = 12;
  while ((object.ring.device_address >> object.log_page & 1) == 0 &&
         std::size_t{1} << object.log_page < object.ring.bytes)
    ++object.log_page;
  pages = page_list(object.ring, object.log_page);
  return take_translations(object, pages.pages());
}

void verbs::strip(object_record& object) {
  const kind& what = *object.what;
  if (object.linked()) object.unlink();
  if (what.strip != nullptr) what.strip(*this, object);
  for (object_record*& used : object.uses) {
    if (used != nullptr) --used->users;
    used = nullptr;
  }
  if (object.number != object_record::none)
    (source_.numbers->*what.facts.numbers).free(object.number);
  object.number = object_record::none;
  if (!what.is_device_object) return;
  auto& known = static_cast<device_object&>(object);
  if (known.translation_count != 0)
    source_.numbers->mtts.free(known.translations, known.translation_count);
  known.translations = object_record::none;
  known.translation_count = 0;
  if (!what.has_rings) return;
  auto& queue = static_cast<queue_object&>(object);
  if (queue.slots.bytes != 0) requests_.free(queue.slots);
  if (queue.ring.bytes != 0) source_.arena->free(queue.ring);
  if (queue.record.bytes != 0) source_.doorbells->free(queue.record);
  queue.slots = queue.ring = queue.record = {};
}

void verbs::release(object_record& object) {
  strip(object);
  object.exists = object.forgotten = object.under_change = false;
  object.state = object_record::phase::free;
  slabs_[object.index >> slab::place_bits].give_back(object);
}

}  // namespace freehca

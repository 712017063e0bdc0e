// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The resources of objects. Only this file gives them back.
#include <freehca/hca/objects/verbs.hpp>

#include <initializer_list>

namespace freehca {

namespace {

template <class T>
status get(const result<T>& from, T& to) {
  if (!from.ok()) return from.error();
  to = from.value();
  return {};
}

/// Allocates numbers. If `tables` is not null, skips numbers whose block of context memory is in
/// doubt, or whose block the device did not give back.
status allocate(number_allocator& from, std::uint32_t count, const context_tables* tables,
                context_group group, std::uint32_t& to) {
  const struct {
    const context_tables* tables;
    context_group group;
  } in{tables, group};
  const number_filter filter{[](const void* of, std::uint32_t first, std::uint32_t numbers) {
                               const auto& self = *static_cast<decltype(&in)>(of);
                               return self.tables->first_usable(self.group, first, numbers);
                             },
                             &in};
  return get(from.allocate(count, 1, tables != nullptr ? &filter : nullptr), to);
}

}  // namespace

result<object_record*> verbs::take(const kind& what) {
  expect_own_thread();
  if (!up()) return status(driver_error::bad_state);
  slab* const objects = slab_of(what);
  if (objects == nullptr) return status(driver_error::unsupported, what.facts.item);
  object_record* const object = objects->take();
  if (object == nullptr) return status(driver_error::no_resource, what.facts.item);
  // The last object in this place of the slab may have had translations.
  if (what.is_device_object)
    for (const lease_kind k : {lease_kind::mapping, lease_kind::buffer})
      static_cast<device_object*>(object)->at_risk.set_amount(k, 0);
  object->state = object_record::phase::creating;
  return object;
}

status verbs::take_number(object_record& object) {
  const kind& what = *object.what;
  return allocate(source_.numbers->*what.facts.numbers, 1,
                  what.is_device_object ? source_.contexts : nullptr, what.facts.group,
                  object.number);
}

status verbs::take_translations(device_object& object, std::size_t pages) {
  if (pages > ~std::uint32_t{0}) return driver_error::bad_argument;
  const auto count = static_cast<std::uint32_t>(pages);
  FREEHCA_TRY(allocate(source_.numbers->mtts, count, source_.contexts, context_group::mtt,
                       object.translations));
  object.translation_count = count;
  object.at_risk.set_amount(lease_kind::mapping, count);
  object.at_risk.set_amount(lease_kind::buffer, count);
  return {};
}

status verbs::take_rings(queue_object& object, std::size_t ring_bytes, std::size_t record_bytes,
                         std::size_t requests, page_list& pages) {
  if (requests != 0)
    FREEHCA_TRY(get(requests_.allocate(requests * sizeof(queues::posted_request)), object.slots));
  FREEHCA_TRY(get(source_.arena->allocate_ring(ring_bytes), object.ring));
  if (record_bytes != 0) FREEHCA_TRY(get(source_.doorbells->allocate(record_bytes), object.record));
  // The pages of the translation are as large as the address of the ring is aligned, up to one page
  // for the whole ring (Linux 6.1 alloc.c mlx4_buf_direct_alloc).
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

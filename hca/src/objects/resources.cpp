// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The resources of objects. Only this file gives them back.
#include <freehca/hal/assert.hpp>

#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

namespace {

template <class T>
status get(const result<T>& from, T& to) {
  if (!from.ok()) return from.error();
  to = from.value();
  return {};
}

/// Allocates numbers that have entries in context memory. Skips numbers whose block is in doubt, or
/// whose block the device did not give back. For an event owner, it also skips numbers whose place
/// in the directory another number of this owner has.
status allocate_usable(number_allocator& numbers, std::uint32_t count, std::uint32_t alignment,
                       const context_tables& tables, context_group group, const owner_link* link,
                       std::uint32_t& to) {
  const auto first_usable = [&](std::uint32_t first, std::uint32_t) {
    if (link != nullptr) first = numbers.first_unlike(link->id(), first, count, link->places);
    return tables.first_usable(group, first, count);
  };
  return get(numbers.allocate(count, alignment, first_usable), to);
}

}  // namespace

void object_record::use(object_record& other) {
  for (object_record*& place : uses) {
    if (place != nullptr) continue;
    place = &other;
    ++other.users;
    return;
  }
  FREEHCA_ASSERT(false);
}

result<object_record*> verbs::take(const kind& what) {
  expect_entered();
  if (!up()) return status(driver_error::bad_state);
  slab* const objects = slab_of(what);
  if (objects == nullptr) return status(driver_error::unsupported, what.facts.item);
  object_record* const object = objects->take();
  if (object == nullptr) return status(driver_error::no_resource, what.facts.item);
  if (what.poll != nullptr) polled_.push_back(*object);
  object->state = object_record::phase::creating;
  return object;
}

status verbs::take_number(object_record& object) {
  number_allocator& numbers = device_->numbers().*object.what->facts.numbers;
  if (link_ == nullptr) return get(numbers.allocate(), object.number);
  // No step of an operation crosses. Each event owner has numbers of its own behind those of the
  // control owner. A number costs nothing, because the device has no memory of protection domains.
  const std::uint32_t place = object.index & ((std::uint32_t{1} << slab::place_bits) - 1);
  const std::uint32_t number = (1u << device_plan::log_pds) +
                               (link_->context << device_plan::log_pds_of_event_owner) + place;
  if (place >> device_plan::log_pds_of_event_owner != 0 ||
      number >> device_->capabilities().log_most_pds != 0)
    return status(driver_error::no_resource, static_cast<unsigned>(budget::item::pds));
  object.number = number;
  return {};
}

status verbs::plan_rings(queue_object& object, std::size_t ring_bytes, std::size_t record_bytes,
                         std::size_t requests) {
  if (requests != 0)
    FREEHCA_TRY(get(requests_.allocate(requests * sizeof(queues::posted_request)), object.slots));
  object.ring = {.bytes = ring_bytes};
  object.record = {.bytes = record_bytes};
  return {};
}

status verbs::allocate(device_object& object, page_list& pages) {
  const kind_facts& facts = object.what->facts;
  number_allocator& numbers = device_->numbers().*facts.numbers;
  const context_tables& tables = device_->contexts();
  const std::uint32_t n = object.number_count;
  if (n != 0)
    FREEHCA_TRY(allocate_usable(numbers, n, n, tables, facts.group, link_, object.device_number));
  if (link_ != nullptr) numbers.set_owner(object.device_number, n, link_->id());
  if (object.what->has_rings) {
    auto& queue = static_cast<queue_object&>(object);
    FREEHCA_TRY(get(device_->arena().allocate_ring(queue.ring.bytes), queue.ring));
    if (queue.record.bytes != 0)
      FREEHCA_TRY(get(device_->doorbells().allocate(queue.record.bytes), queue.record));
    // The pages of the translation are as large as the address of the ring is aligned, up to one
    // page for the whole ring (Linux 6.1 alloc.c mlx4_buf_direct_alloc).
    queue.log_page = 12;
    while ((queue.ring.device_address >> queue.log_page & 1) == 0 &&
           std::size_t{1} << queue.log_page < queue.ring.bytes)
      ++queue.log_page;
    pages = page_list(queue.ring, queue.log_page);
    queue.translation_count = static_cast<std::uint32_t>(pages.pages());
  }
  const std::uint32_t count = object.translation_count;
  object.at_risk.set_amount(lease_kind::mapping, count);
  object.at_risk.set_amount(lease_kind::buffer, count);
  if (count == 0) return {};
  return allocate_usable(device_->numbers().mtts, count, 1, tables, context_group::mtt, nullptr,
                         object.translations);
}

void verbs::free(device_object& object) {
  if (object.device_number != object_record::none)
    (device_->numbers().*object.what->facts.numbers)
        .free(object.device_number, object.number_count);
  if (object.translations != object_record::none)
    device_->numbers().mtts.free(object.translations, object.translation_count);
  object.device_number = object.translations = object_record::none;
  if (!object.what->has_rings) return;
  auto& queue = static_cast<queue_object&>(object);
  if (queue.ring.host != nullptr) device_->arena().free(queue.ring);
  if (queue.record.host != nullptr) device_->doorbells().free(queue.record);
  queue.ring = queue.record = {};
}

void verbs::strip(object_record& object) {
  const kind& what = *object.what;
  object.unlink();  // from polled_ or reclaimable_
  if (what.strip != nullptr) what.strip(*this, object);
  for (object_record*& used : object.uses) {
    if (used != nullptr) --used->users;
    used = nullptr;
  }
  if (object.number != object_record::none && !what.is_device_object && link_ == nullptr)
    (device_->numbers().*what.facts.numbers).free(object.number);
  object.number = object_record::none;
  if (!what.is_device_object) return;
  auto& known = static_cast<device_object&>(object);
  if (what.has_rings) {
    auto& queue = static_cast<queue_object&>(object);
    if (queue.slots.bytes != 0) requests_.free(queue.slots);
    queue.slots = {};
  }
  if (link_ == nullptr) free(known);
}

void verbs::release(object_record& object) {
  strip(object);
  object.state = object_record::phase::free;
  slabs_[object.index >> slab::place_bits].give_back(object);
}

}  // namespace freehca

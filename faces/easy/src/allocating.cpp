// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>
#include <freehca/hal/cache.hpp>

namespace freehca::easy {

mr_handle allocating::registering::in_doubt(status outcome) const {
  if (!has_object()) return {};
  if (outcome.who() != origin::transport && !outcome.is(driver_error::cancelled)) return {};
  using enum object_record::phase;
  const object_record::phase now = object().state;
  if (now != doubtful_creation && now != doubtful_forgotten && now != reclaimable &&
      now != reclaimable_blank)
    return {};
  return verbs::handle_of(static_cast<memory_region&>(object()));
}

void allocating::start(adapter& hca, std::size_t bytes, rights allowed) {
  if (startable()) begin_with(hca, {.first = nullptr, .bytes = bytes}, allowed, false);
}

void allocating::start(adapter& hca, const program_memory& own, rights allowed, bool read_only) {
  if (!startable()) return;
  if (own.first == nullptr) return refuse(hca, driver_error::bad_argument);
  begin_with(hca, own, allowed, read_only);
}

void allocating::begin_with(adapter& hca, const program_memory& own, rights allowed,
                            bool read_only) {
  if (!hca.up()) return refuse(hca, driver_error::bad_state);
  if (own.bytes == 0) return refuse(hca, driver_error::bad_argument);
  place_ = hca.take_place();
  if (place_ == nullptr)
    return refuse(hca, status(driver_error::no_resource, memory_region::facts.item));
  memory_region_attributes region{.pd = hca.domain_,
                                  .access = {.local_write = !read_only,
                                             .remote_read = has(allowed, rights::remote_read),
                                             .remote_write = has(allowed, rights::remote_write),
                                             .remote_atomic = has(allowed, rights::remote_atomic)},
                                  .memory = own};
  place_->is_program_memory = own.first != nullptr;
  if (place_->is_program_memory) {
    place_->memory = {own.first, reinterpret_cast<std::uintptr_t>(own.first), own.bytes};
  } else {
    const result<dma_region> room = hca.device_.arena().allocate(own.bytes, dma_arena::page);
    if (!room.ok()) {
      hca.vacate(*place_);
      return refuse(hca, room.error());
    }
    place_->memory = room.value();
    dma::clear(place_->memory.host, place_->memory.bytes);
    cache::clean(place_->memory.host, place_->memory.bytes);
    region.memory = {};
    region.pages = page_list(place_->memory.part(0, own.bytes), 12);
    region.virtual_address = place_->memory.device_address;
  }
  place_->worked_on = true;
  begin_in(hca, &advance);
  part(create_).start(hca.verbs_, region);
  bring({.host = place_->memory.host,
         .bytes = own.bytes,
         .region = {},
         .key = 0,
         .address = place_->memory.device_address,
         .where = place_,
         .serial = place_->serial});
}

void allocating::advance(stepper& s, status outcome) noexcept {
  auto& self = static_cast<allocating&>(s);
  if (self.undone(outcome)) return;
  place& p = *self.place_;
  if (!outcome.ok()) {
    p.region = self.create_.in_doubt(outcome);
    return self.undo(outcome);
  }
  p.region = self.create_.made();
  if (!self.stop_reason().ok()) return self.undo(self.stop_reason());
  memory made = self.brought();
  made.region = p.region;
  made.key = key_of(self.owner().verbs_, p.region);
  self.bring(made);
  self.end_work({});
}

}  // namespace freehca::easy

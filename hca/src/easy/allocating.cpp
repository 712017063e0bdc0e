// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/cache.hpp>
#include <freehca/hca/easy/adapter.hpp>

namespace freehca::easy {

mr_handle allocating::registering::in_doubt(status outcome) const {
  // One that was refused at its start has no object.
  if (outcome.who() != origin::transport && !outcome.is(driver_error::cancelled)) return {};
  const object_record::phase now = object().state;
  if (now != object_record::phase::doubtful_creation && now != object_record::phase::unwanted)
    return {};
  return verbs::handle_of(static_cast<memory_region&>(object()));
}

namespace {

memory_access access_of(rights allowed, bool local_write) {
  return {.local_write = local_write,
          .remote_read = has(allowed, rights::remote_read),
          .remote_write = has(allowed, rights::remote_write),
          .remote_atomic = has(allowed, rights::remote_atomic)};
}

}  // namespace

status allocating::take_place(adapter& hca, std::size_t bytes) {
  if (!hca.up()) return driver_error::bad_state;
  if (bytes == 0) return driver_error::bad_argument;
  place_ = hca.take_place();
  if (place_ == nullptr) return status(driver_error::no_resource, memory_region::facts.item);
  return {};
}

void allocating::start(adapter& hca, std::size_t bytes, rights allowed) {
  if (!startable()) return;
  if (const status s = take_place(hca, bytes); !s.ok()) return refuse(hca, s);
  const result<dma_region> room = hca.device_.arena().allocate(bytes, dma_arena::page);
  if (!room.ok()) {
    hca.vacate(*place_);
    return refuse(hca, room.error());
  }
  place_->memory = room.value();
  dma::clear(place_->memory.host, place_->memory.bytes);
  begin_registering(hca, bytes,
                    {.pd = hca.domain_,
                     .pages = page_list(place_->memory.part(0, bytes), 12),
                     .virtual_address = place_->memory.device_address,
                     .access = access_of(allowed, true)});
}

void allocating::start(adapter& hca, const program_memory& own, rights allowed, bool read_only) {
  if (!startable()) return;
  if (const status s = take_place(hca, own.bytes); !s.ok()) return refuse(hca, s);
  place_->memory = {own.first, reinterpret_cast<std::uintptr_t>(own.first), own.bytes};
  place_->is_program_memory = true;
  begin_registering(hca, own.bytes,
                    {.pd = hca.domain_, .access = access_of(allowed, !read_only), .memory = own});
}

void allocating::begin_registering(adapter& hca, std::size_t bytes,
                                   const memory_region_attributes& attributes) {
  const dma_region& memory = place_->memory;
  place_->worked_on = true;
  cache::clean(memory.host, memory.bytes);
  begin_in(hca, &advance);
  part(create_).start(hca.verbs_, attributes);
  bring({.host = memory.host,
         .bytes = bytes,
         .region = {},
         .key = 0,
         .address = memory.device_address,
         .where = place_,
         .serial = place_->serial});
}

void allocating::advance(sequence& s, status outcome) noexcept {
  auto& self = static_cast<allocating&>(s);
  place& p = *self.place_;
  if (self.undoing()) {
    if (!outcome.ok()) self.owner().leave(p);
    return self.finish(self.why());
  }
  if (!outcome.ok()) {
    p.region = self.create_.in_doubt(outcome);
    return self.undo(outcome);
  }
  p.region = self.create_.made();
  if (!self.stop_reason().ok()) return self.undo(self.stop_reason());
  p.worked_on = false;
  memory made = self.brought();
  made.region = p.region;
  made.key = key_of(self.owner().verbs_, p.region);
  self.bring(made);
  self.finish({});
}

void allocating::undo(status why) {
  if (dropped()) {
    owner().leave(*place_);
    return finish(why);
  }
  begin_undoing(why);
  part(take_back_).start(owner(), *place_);
}

}  // namespace freehca::easy

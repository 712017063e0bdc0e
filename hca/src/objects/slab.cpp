// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/objects/slab.hpp>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/storage.hpp>

namespace freehca {

void slab::open(const kind& what, std::byte* storage, std::uint32_t count, unsigned number,
                std::uint32_t generation, verbs& owner) {
  FREEHCA_ASSERT(count >> place_bits == 0);
  what_ = &what;
  owner_ = &owner;
  storage_ = storage;
  count_ = count;
  number_ = number;
  generation_ = generation;
}

void slab::make() {
  std::byte* const place = storage_ + std::size_t{made_} * what_->bytes;
  object_record& object = what_->construct(place);
  // at() relies on this address.
  FREEHCA_ASSERT(static_cast<void*>(&object) == place);
  object.what = what_;
  object.owner = owner_;
  object.generation = generation_;
  object.index = number_ << place_bits | made_;
  free_ = made_++;
}

void slab::close() {
  FREEHCA_ASSERT(out_ == 0);
  for (std::uint32_t i = 0; i < made_; ++i) what_->destruct(at(i));
  *this = slab{};
}

object_record* slab::take() {
  if (free_ == object_record::none && made_ < count_) make();
  if (free_ == object_record::none) return nullptr;
  object_record& object = at(free_);
  free_ = object.next_free;
  ++out_;
  return &object;
}

void slab::give_back(object_record& object) {
  if (++object.generation == 0) object.generation = 1;
  object.next_free = free_;
  free_ = object.index & ((std::uint32_t{1} << place_bits) - 1);
  --out_;
}

object_record& slab::at(std::uint32_t place) const {
  FREEHCA_ASSERT(place < made_);
  return *storage_for<object_record>(storage_ + std::size_t{place} * what_->bytes);
}

}  // namespace freehca

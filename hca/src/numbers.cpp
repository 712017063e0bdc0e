// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/numbers.hpp>

#include <freehca/hal/storage.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca {

namespace {
constexpr std::uint64_t all_bits = ~std::uint64_t{0};
}

void number_allocator::open(std::byte* storage, std::uint32_t first, std::uint32_t end,
                            unsigned log_unit, budget::item what) {
  used_ = storage_for<std::uint64_t>(storage);
  log_unit_ = log_unit;
  const std::uint32_t unit = std::uint32_t{1} << log_unit;
  first_ = (first + unit - 1) >> log_unit;
  end_ = end >> log_unit;
  lowest_ = first_;
  out_ = 0;
  rests_ = 0;
  looks_ = 0;
  for (run& r : resting_) r = {};
  what_ = what;
  for (std::size_t i = 0; i < (end_ + std::size_t{63}) / 64; ++i) used_[i] = 0;
}

void number_allocator::keep_owners() {
  owners_ = reinterpret_cast<std::uint8_t*>(used_) + storage_bytes_for(end_);
  set_owner(0, end_, 0);
}

void number_allocator::set_owner(std::uint32_t first, std::uint32_t count, std::uint8_t owner) {
  while (owners_ != nullptr && count-- != 0) owners_[first++] = owner;
}

std::uint32_t number_allocator::first_unlike(std::uint8_t owner, std::uint32_t first,
                                             std::uint32_t count, std::uint32_t places) const {
  if (owners_ == nullptr) return first;
  // After `places` numbers, the low bits repeat.
  for (std::uint32_t end = first + places, i = first; first + count <= end;) {
    std::uint32_t n = i & (places - 1);
    while (n < end_ && owners_[n] != owner) n += places;
    if (n < end_) i = first += count;
    else if (++i == first + count) return first;
  }
  return end_;
}

/// Returns the first taken unit of [unit, end), or `end` if all are free.
std::uint32_t number_allocator::first_taken(std::uint32_t unit, std::uint32_t end) {
  while (unit < end) {
    ++looks_;
    const std::uint64_t from_here = used_[unit / 64] >> unit % 64;
    const std::uint32_t at =
        from_here != 0 ? unit + layouts::lowest_bit(from_here) : (unit | 63) + 1;
    if (from_here != 0) return at < end ? at : end;
    unit = at;
  }
  return end;
}

/// Returns the first free unit from `unit` on, or end_ if there is none.
std::uint32_t number_allocator::first_free(std::uint32_t unit) {
  while (unit < end_) {
    ++looks_;
    const std::uint64_t free_here = ~used_[unit / 64] & all_bits << unit % 64;
    unit &= ~std::uint32_t{63};
    if (free_here != 0) {
      const std::uint32_t at = unit + layouts::lowest_bit(free_here);
      return at < end_ ? at : end_;
    }
    unit += 64;
  }
  return end_;
}

void number_allocator::mark(const run& r, [[maybe_unused]] bool take) {
  for (std::uint32_t i = r.first, end = i + r.units; i < end;) {
    const std::uint32_t here = end - i < 64 - i % 64 ? end - i : 64 - i % 64;
    const std::uint64_t bits = all_bits >> (64 - here) << i % 64;
    std::uint64_t& word = used_[i / 64];
    FREEHCA_ASSERT((word & bits) == (take ? 0 : bits));
    word ^= bits;
    i += here;
  }
}

void number_allocator::end_rest(const run& r) {
  if (r.units == 0) return;
  mark(r, false);
  if (r.first < lowest_) lowest_ = r.first;
}

bool number_allocator::end_rests() {
  bool any = false;
  for (run& r : resting_) {
    any = any || r.units != 0;
    end_rest(r);
    r = {};
  }
  return any;
}

/// Returns the first unit of the lowest free run from unit `from` on, or end_ if there is none.
std::uint32_t number_allocator::search(std::uint32_t from, std::uint32_t units,
                                       std::uint32_t step) {
  // Rounds `u` up to a multiple of `step`, a power of two. Returns end_ or more if the result is
  // beyond the end or would overflow.
  const auto aligned = [this, step](std::uint32_t u) {
    return u > end_ - 1 || step - 1 > ~u ? end_ : (u + step - 1) & ~(step - 1);
  };
  for (std::uint32_t u = aligned(first_free(from < lowest_ ? lowest_ : from));
       u < end_ && units <= end_ - u;) {
    const std::uint32_t taken = first_taken(u, u + units);
    if (taken == u + units) return u;
    u = aligned(first_free(taken));
  }
  return end_;
}

result<std::uint32_t> number_allocator::find(std::uint32_t count, std::uint32_t alignment,
                                             std::uint32_t from) {
  const status none(driver_error::no_resource, static_cast<unsigned>(what_));
  if (used_ == nullptr || count == 0) return none;
  const std::uint32_t units = units_of(count);
  const std::uint32_t step = alignment >> log_unit_ == 0 ? 1 : alignment >> log_unit_;
  if (units > end_ - first_) return none;
  std::uint32_t at = search(units_of(from), units, step);
  if (at == end_ && end_rests()) at = search(0, units, step);
  if (at == end_) return none;
  return at << log_unit_;
}

void number_allocator::take(std::uint32_t first, std::uint32_t count) {
  const run taken{first >> log_unit_, units_of(count)};
  mark(taken, true);
  out_ += taken.units;
  if (taken.first == lowest_) lowest_ += taken.units;
}

result<std::uint32_t> number_allocator::allocate(std::uint32_t count, std::uint32_t alignment) {
  const result<std::uint32_t> found = find(count, alignment, 0);
  if (found.ok()) take(found.value(), count);
  return found;
}

void number_allocator::free(std::uint32_t first, std::uint32_t count) {
  const std::uint32_t units = units_of(count);
  const std::uint32_t unit = first >> log_unit_;
  FREEHCA_ASSERT(used_ != nullptr && unit >= first_ && unit < end_ && units <= end_ - unit);
  if (used_ == nullptr || unit < first_ || unit >= end_ || units > end_ - unit) return;
  set_owner(first, count, 0);
  run& longest = resting_[rests_++ % resting];
  end_rest(longest);
  longest = {unit, units};
  out_ -= units;
}

void memory_keys::open(std::byte* storage, std::uint32_t indexes) {
  used_ = reinterpret_cast<std::uint8_t*>(storage);
  mask_ = indexes - 1;
  for (std::uint32_t i = 0; i < indexes; ++i) used_[i] = 0;
}

std::uint32_t memory_keys::following(std::uint32_t key, std::uint32_t reserved_lkey) {
  do {
    key = (key & ~std::uint32_t{0xff}) | ((key + 1) & 0xff);
  } while (key == layouts::invalid_lkey || key == reserved_lkey);
  return key;
}

std::uint32_t memory_keys::next(std::uint32_t index, std::uint32_t reserved_lkey) {
  const std::uint32_t key = following(index << 8 | used_[index & mask_], reserved_lkey);
  used_up_to(key);
  return key;
}

void memory_keys::used_up_to(std::uint32_t key) {
  used_[(key >> 8) & mask_] = static_cast<std::uint8_t>(key);
}

}  // namespace freehca

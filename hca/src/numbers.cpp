// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/numbers.hpp>

#include <freehca/hal/storage.hpp>

namespace freehca {

void number_allocator::open(std::byte* storage, std::uint32_t first, std::uint32_t end,
                            unsigned log_unit, budget::item what) {
  used_ = storage_for<std::uint64_t>(storage);
  log_unit_ = log_unit;
  const std::uint32_t unit = std::uint32_t{1} << log_unit;
  first_ = (first + unit - 1) >> log_unit;
  end_ = end >> log_unit;
  next_ = first_;
  out_ = 0;
  what_ = what;
  for (std::size_t i = 0; i < (end_ + std::size_t{63}) / 64; ++i) used_[i] = 0;
}

bool number_allocator::run_is_free(std::uint32_t unit, std::uint32_t units) const {
  for (std::uint32_t i = 0; i < units; ++i)
    if (taken(unit + i)) return false;
  return true;
}

void number_allocator::mark(std::uint32_t unit, std::uint32_t units, bool take) {
  for (std::uint32_t i = unit; i < unit + units; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    FREEHCA_ASSERT(taken(i) != take);
    used_[i / 64] = take ? used_[i / 64] | bit : used_[i / 64] & ~bit;
  }
  out_ = take ? out_ + units : out_ - units;
}

result<std::uint32_t> number_allocator::allocate(std::uint32_t count, std::uint32_t alignment) {
  const status none(driver_error::no_resource, static_cast<unsigned>(what_));
  if (used_ == nullptr || count == 0) return none;
  const std::uint32_t units = (count + (std::uint32_t{1} << log_unit_) - 1) >> log_unit_;
  const std::uint32_t step = alignment >> log_unit_ == 0 ? 1 : alignment >> log_unit_;
  if (units > end_ - first_) return none;

  const auto search = [&](std::uint32_t from, std::uint32_t until) -> std::uint32_t {
    for (std::uint32_t u = (from + step - 1) / step * step; u < until && units <= end_ - u;
         u += step)
      if (run_is_free(u, units)) return u;
    return end_;
  };
  std::uint32_t at = search(next_, end_);
  if (at == end_) at = search(first_, next_);
  if (at == end_) return none;
  mark(at, units, true);
  next_ = at + units;
  return at << log_unit_;
}

void number_allocator::free(std::uint32_t first, std::uint32_t count) {
  const std::uint32_t units = (count + (std::uint32_t{1} << log_unit_) - 1) >> log_unit_;
  const std::uint32_t unit = first >> log_unit_;
  FREEHCA_ASSERT(used_ != nullptr && unit >= first_ && unit < end_ && units <= end_ - unit);
  if (used_ == nullptr || unit < first_ || unit >= end_ || units > end_ - unit) return;
  mark(unit, units, false);
}

}  // namespace freehca

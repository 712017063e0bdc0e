// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/dma_arena.hpp>

#include <freehca/hal/power_of_two.hpp>
#include <freehca/hal/storage.hpp>
#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

status dma_arena::open(const dma_region& block, std::size_t unit, std::byte* storage,
                       std::size_t storage_bytes, unsigned budget) {
  if (is_open()) return driver_error::bad_state;
  if (!is_power_of_two(unit) || block.host == nullptr || block.device_address % unit != 0 ||
      storage == nullptr || block.bytes < unit ||
      reinterpret_cast<std::uintptr_t>(storage) % alignof(std::uint64_t) != 0 ||
      storage_bytes < storage_bytes_for(block.bytes, unit))
    return status(driver_error::bad_argument, budget);
  block_ = block;
  used_ = storage_for<std::uint64_t>(storage);
  unit_ = unit;
  units_ = block.bytes / unit;
  units_out_ = lowest_free_ = 0;
  budget_ = budget;
  for (std::size_t i = 0; i < (units_ + 63) / 64; ++i) used_[i] = 0;
  return {};
}

void dma_arena::close() {
  used_ = nullptr;
  units_ = units_out_ = 0;
}

result<dma_region> dma_arena::find(std::size_t bytes, std::size_t alignment, bool at_either_end) {
  if (!is_open()) return status(driver_error::bad_state, budget_);
  if (bytes == 0 || !is_power_of_two(alignment)) return status(driver_error::bad_argument, budget_);
  const std::size_t count = bytes / unit_ + (bytes % unit_ != 0 ? 1 : 0);
  const std::size_t step = alignment > unit_ ? alignment / unit_ : 1;

  // `alignment` applies to device addresses. The block itself may have a smaller alignment.
  const std::size_t phase = static_cast<std::size_t>(block_.device_address / unit_) & (step - 1);
  std::size_t first = lowest_free_;
  while (count <= units_ && first <= units_ - count) {
    first = next(first, false);
    first += (step - ((first + phase) & (step - 1))) & (step - 1);
    if (first > units_ - count) break;
    const std::size_t end = next(first, true);
    if (end - first >= count) {
      const std::uint64_t at_begin = block_.device_address + first * unit_;
      const std::uint64_t at_end = block_.device_address + (end - count) * unit_;
      for (std::size_t bit = unit_; at_either_end && bit < bytes && (at_end & bit) == 0; bit <<= 1)
        if ((at_begin & bit) != 0) first = end - count;
      mark(first, count, true);
      return block_.part(first * unit_, count * unit_);
    }
    first = end + 1;
  }
  return status(driver_error::no_memory, budget_);
}

void dma_arena::free(const dma_region& run) {
  const std::uint64_t offset = run.device_address - block_.device_address;
  const bool ours = is_open() && run.bytes != 0 && run.bytes % unit_ == 0 && offset % unit_ == 0 &&
                    run.bytes / unit_ <= units_ && offset / unit_ <= units_ - run.bytes / unit_;
  FREEHCA_ASSERT(ours);
  if (!ours) return;
  mark(static_cast<std::size_t>(offset / unit_), run.bytes / unit_, false);
}

void dma_arena::mark(std::size_t first, std::size_t count, bool take) {
  for (std::size_t i = first; i < first + count; ++i) {
    const bool was = taken(i);
    FREEHCA_ASSERT(was != take);
    if (was == take) continue;
    used_[i / 64] ^= std::uint64_t{1} << i % 64;
    units_out_ = take ? units_out_ + 1 : units_out_ - 1;
  }
  if (take && first <= lowest_free_) lowest_free_ = next(first, false);
  else if (!take && first < lowest_free_) lowest_free_ = first;
}

std::size_t dma_arena::next(std::size_t from, bool used) const {
  while (from < units_) {
    const std::uint64_t found = (used ? used_[from / 64] : ~used_[from / 64]) >> from % 64;
    if (found != 0) {
      const std::size_t at = from + layouts::lowest_bit(found);
      return at < units_ ? at : units_;
    }
    from = (from / 64 + 1) * 64;
  }
  return units_;
}

}  // namespace freehca

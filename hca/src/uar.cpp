// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/uar.hpp>

namespace freehca {

void uar_pages::open(const mmio_region& bar, unsigned log_uar_mb, unsigned reserved, bool blueflame,
                     std::byte* storage) {
  bar_ = bar;
  log_uar_mb_ = log_uar_mb;
  blueflame_ = blueflame;
  // The pages of EQ doorbells come first. The pages that the firmware reserves are counted from the
  // start too (Linux 6.1 device.h mlx4_get_num_reserved_uar).
  const unsigned first = reserved > layouts::uar::eq_pages ? reserved : layouts::uar::eq_pages;
  const std::size_t there = (std::size_t{1} << (20 + log_uar_mb)) / layouts::uar::page_size;
  const std::size_t mapped = bar.bytes / layouts::uar::page_size;
  std::size_t end = there < mapped ? there : mapped;
  if (end > most_pages) end = most_pages;
  numbers_.open(storage, first, static_cast<std::uint32_t>(end), 0, budget::item::uars);
}

result<uar_page> uar_pages::allocate() {
  const result<std::uint32_t> index = numbers_.allocate();
  if (!index.ok()) return index.error();
  uar_page page;
  page.index = index.value();
  page.doorbells =
      bar_.part(std::size_t{page.index} * layouts::uar::page_size, layouts::uar::page_size);
  const std::uint64_t blueflame = layouts::uar::blueflame_page_of(page.index, log_uar_mb_);
  if (blueflame_ && blueflame + layouts::uar::page_size <= bar_.bytes)
    page.blueflame = bar_.part(blueflame, layouts::uar::page_size);
  return page;
}

}  // namespace freehca

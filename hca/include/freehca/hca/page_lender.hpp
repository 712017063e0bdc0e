// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>

namespace freehca {

/// A naturally aligned power of two of 4 KiB pages of the arena.
struct page_run {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t first_page = 0;  ///< in the arena's block
  std::uint32_t next = none;
  std::uint32_t log_pages = 0;
};

/// Pages that are lent together: a chain of runs, largest first.
struct lent_pages {
  std::uint32_t first = page_run::none;
  std::uint32_t last = page_run::none;
  std::uint32_t pages = 0;
  bool empty() const { return pages == 0; }
};

/// Takes pages for the firmware out of an arena, in pieces as large as it has them, and remembers
/// which in storage of the caller: nothing is remembered in the pages, which the firmware
/// overwrites.
class page_lender {
 public:
  static constexpr std::size_t storage_bytes_for(std::size_t pages) {
    return pages * sizeof(page_run);
  }

  page_lender() = default;
  page_lender(const page_lender&) = delete;
  page_lender& operator=(const page_lender&) = delete;

  /// Arena (unit: a page) and storage outlive the lender; at most `most_pages` are out at a time.
  void open(dma_arena& arena, std::byte* storage, std::uint32_t most_pages,
            unsigned log_largest_run);
  void close();

  /// Appends `pages` pages to `to`, whose offset so far must be aligned to what is taken next:
  /// powers of two in descending order, or anything into an empty chain. driver_error::no_memory
  /// (budget::item::lent_pages); `to` is then as it was.
  status take(std::uint32_t pages, lent_pages& to);
  /// Goes on to fill `to` up to `pages` in all, with `most_runs` more runs at most: for figures
  /// that the firmware chose, so that no call takes long. `to` has no other pages. Errors as
  /// take(), but then `to` keeps what it has.
  status fill(std::uint32_t pages, lent_pages& to, unsigned most_runs);
  /// Gives all of it back to the arena.
  void give_back(lent_pages& from);

  const page_run& run(std::uint32_t index) const { return runs_[index]; }
  /// The memory of a run.
  dma_region region(const page_run& r) const {
    return arena_->block().part(std::size_t{r.first_page} << 12,
                                std::size_t{1} << (r.log_pages + 12));
  }
  std::uint32_t pages_out() const { return pages_out_; }
  std::uint32_t capacity() const { return capacity_; }

 private:
  std::uint32_t page_of(const dma_region& r) const {
    return static_cast<std::uint32_t>((r.device_address - arena_->block().device_address) /
                                      dma_arena::page);
  }
  void append(lent_pages& to, std::uint32_t first_page, unsigned log);
  status grow(lent_pages& to, std::uint32_t pages, unsigned log, unsigned most_runs);
  void truncate(lent_pages& chain, const lent_pages& before);

  dma_arena* arena_ = nullptr;
  page_run* runs_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t free_ = page_run::none;
  std::uint32_t pages_out_ = 0;
  unsigned log_largest_ = 0;
};

}  // namespace freehca

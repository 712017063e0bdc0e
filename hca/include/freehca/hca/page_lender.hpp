// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>

namespace freehca {

/// A run of 4 KiB pages of the arena. The number of pages is a power of two, and the run is
/// naturally aligned.
struct page_run {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t first_page = 0;  ///< in the arena's block
  std::uint32_t next = none;
  std::uint32_t log_pages = 0;
};

/// Pages that are lent as one set. They are a chain of runs, the largest first.
struct lent_pages {
  std::uint32_t first = page_run::none;
  std::uint32_t last = page_run::none;
  std::uint32_t pages = 0;
  bool empty() const { return pages == 0; }
};

/// Allocates pages for the firmware from an arena, in runs as large as the arena has. The records
/// of the runs are in storage of the caller, not in the pages, because the firmware overwrites the
/// pages.
class page_lender {
 public:
  static constexpr std::size_t storage_bytes_for(std::size_t pages) {
    return pages * sizeof(page_run);
  }

  page_lender() = default;
  page_lender(const page_lender&) = delete;
  page_lender& operator=(const page_lender&) = delete;

  /// Arena (unit: one page) and storage outlive the lender. At most `most_pages` pages are lent at
  /// a time.
  void open(dma_arena& arena, std::byte* storage, std::uint32_t most_pages,
            unsigned log_largest_run);
  void close();

  /// Appends `pages` pages to `to`. If `to` is not empty, its offset so far must be aligned to the
  /// runs that are appended: sizes are powers of two in descending order. Errors:
  /// driver_error::no_memory (budget::item::lent_pages). On an error `to` is unchanged.
  status take(std::uint32_t pages, lent_pages& to);
  /// Appends runs to `to`, at most `most_runs`, until `to` has `pages` pages in all. It serves
  /// sizes that the firmware chose: the limit keeps each call short. `to` has only pages of earlier
  /// calls of fill(). The errors are those of take(), but on an error `to` keeps its pages.
  status fill(std::uint32_t pages, lent_pages& to, unsigned most_runs);
  /// Returns all pages of `from` to the arena.
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

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/page_lender.hpp>

#include <freehca/hal/storage.hpp>

#include <bit>
#include <new>

namespace freehca {

void page_lender::open(dma_arena& arena, std::byte* storage, std::uint32_t most_pages,
                       unsigned log_largest_run) {
  arena_ = &arena;
  runs_ = storage_for<page_run>(storage);
  capacity_ = most_pages;
  log_largest_ = log_largest_run;
  for (std::uint32_t i = 0; i < capacity_; ++i) {
    auto* r = new (storage + i * sizeof(page_run)) page_run;
    r->next = i + 1 < capacity_ ? i + 1 : page_run::none;
  }
  free_ = capacity_ == 0 ? page_run::none : 0;
  pages_out_ = 0;
}

void page_lender::close() {
  FREEHCA_ASSERT(pages_out_ == 0);
  runs_ = nullptr;
  free_ = page_run::none;
}

status page_lender::take(std::uint32_t pages, lent_pages& to) {
  const lent_pages before = to;
  const status s = grow(to, pages, log_largest_, ~0u);
  if (!s.ok()) truncate(to, before);
  return s;
}

status page_lender::fill(std::uint32_t pages, lent_pages& to, unsigned most_runs) {
  const unsigned log = to.empty() ? log_largest_ : runs_[to.last].log_pages;
  return grow(to, pages - to.pages, log, most_runs);
}

/// Appends runs of 2^log pages or less. No run is larger than the run before. Each run is then as
/// aligned at its offset in the chain as in memory.
status page_lender::grow(lent_pages& to, std::uint32_t pages, unsigned log, unsigned most_runs) {
  for (std::uint32_t left = pages; left > 0 && most_runs > 0;) {
    while (std::uint32_t{1} << log > left) --log;
    const std::size_t bytes = std::size_t{dma_arena::page} << log;
    const result<dma_region> got = free_ == page_run::none
                                       ? result<dma_region>(driver_error::no_memory)
                                       : arena_->allocate(bytes, bytes);
    if (!got.ok()) {
      if (free_ == page_run::none || log == 0)
        return status(driver_error::no_memory, static_cast<unsigned>(budget::item::lent_pages));
      --log;
      continue;
    }
    append(to, page_of(got.value()), log);
    left -= std::uint32_t{1} << log;
    --most_runs;
  }
  return {};
}

void page_lender::append(lent_pages& to, std::uint32_t first_page, unsigned log) {
  const std::uint32_t at = free_;
  page_run& r = runs_[at];
  free_ = r.next;
  r = {first_page, page_run::none, log};
  (to.last == page_run::none ? to.first : runs_[to.last].next) = at;
  to.last = at;
  to.pages += std::uint32_t{1} << log;
  pages_out_ += std::uint32_t{1} << log;
}

/// Returns all runs after those of `before` to the arena.
void page_lender::truncate(lent_pages& chain, const lent_pages& before) {
  std::uint32_t& link = before.last == page_run::none ? chain.first : runs_[before.last].next;
  for (std::uint32_t i = link; i != page_run::none;) {
    page_run& r = runs_[i];
    const std::uint32_t next = r.next;
    arena_->free(region(r));
    pages_out_ -= std::uint32_t{1} << r.log_pages;
    r.next = free_;
    free_ = i;
    i = next;
  }
  link = page_run::none;
  chain = before;
}

void page_lender::give_back(lent_pages& from) {
  truncate(from, {});
}

}  // namespace freehca

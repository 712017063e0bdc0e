// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "doorbell_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <freehca/layouts/register_map.hpp>

#include "without_exceptions.hpp"

namespace freehca::device_server {

namespace uar = layouts::uar;

namespace {

constexpr std::uint64_t reserved_bytes = std::uint64_t{uar::eq_pages} * uar::page_size;

// BlueFlame: the first eight bytes of a WQE, in one half of a register (layouts/doorbell.hpp). They
// include the field ds, which is never 0.
constexpr std::uint64_t blueflame_half = 256;

}  // namespace

doorbell_pages::areas doorbell_pages::mappable(std::uint64_t bar_bytes) {
  const std::uint64_t half = bar_bytes / 2;
  return {
      {{reserved_bytes, half - reserved_bytes}, {half + reserved_bytes, half - reserved_bytes}}};
}

int doorbell_pages::begin(std::uint64_t bar_bytes) {
  end();
  file_ = vfio_user::descriptor(memfd_create("freehca doorbells", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Sealed, so that the client cannot shorten the file under the mapping.
  if (!file_.open() || ftruncate(file_.get(), static_cast<off_t>(bar_bytes)) != 0 ||
      fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int why = errno;
    end();
    return why;
  }
  return map(bar_bytes);
}

int doorbell_pages::adopt(vfio_user::descriptor file, std::uint64_t bar_bytes, doorbells what) {
  end();
  file_ = std::move(file);
  struct stat about {};
  if (fstat(file_.get(), &about) != 0 || about.st_size != static_cast<off_t>(bar_bytes)) {
    end();
    return EINVAL;
  }
  if (what == doorbells::discarded &&
      fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(bar_bytes)) != 0) {
    const int why = errno;
    end();
    return why;
  }
  return map(bar_bytes);
}

int doorbell_pages::map(std::uint64_t bar_bytes) {
  void* at = mmap(nullptr, bar_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED) {
    const int why = errno;
    end();
    return why;
  }
  at_ = static_cast<std::byte*>(at);
  bytes_ = bar_bytes;
  return 0;
}

void doorbell_pages::end() {
  if (at_ != nullptr) munmap(at_, bytes_);
  at_ = nullptr;
  file_ = {};
  pages_.clear();
  changes_ = ~std::uint64_t{0};
}

// The upper half of the BAR has the BlueFlame pages. A guest may still name such a page, or a page
// beyond the BAR, as its UAR page. These are not scanned: their BlueFlame would be outside the BAR.
bool doorbell_pages::is_looked_at(std::uint64_t doorbells, std::uint64_t bar_bytes) {
  return doorbells >= reserved_bytes && doorbells < bar_bytes / 2;
}

void doorbell_pages::find_pages(const freehca_model* model) {
  changes_ = freehca_model_uar_page_changes(model);
  std::vector<freehca_model_uar_page> before;
  before.swap(pages_);
  struct call {
    doorbell_pages* to;
    bool complete = true;
  } c{this};
  freehca_model_uar_pages(
      model,
      [](void* with, const freehca_model_uar_page* page) {
        call& all = *static_cast<call*>(with);
        if (!is_looked_at(page->doorbells, all.to->bytes_)) return;
        if (!without_exceptions([&] { all.to->pages_.push_back(*page); })) all.complete = false;
      },
      &c);
  if (!c.complete) {
    // There was no memory for the list. Keep the old pages; the next scan searches again.
    pages_ = std::move(before);
    changes_ = ~std::uint64_t{0};
    return;
  }
  const auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  std::sort(pages_.begin(), pages_.end(), by_number);
  for (const freehca_model_uar_page& page : before)
    if (!std::binary_search(pages_.begin(), pages_.end(), page, by_number)) forget(page);
}

// Clears a page, so that its next user does not find old doorbells. A page is cleared when its last
// queue is destroyed. It is never cleared when its first queue is created, because the driver may
// have rung the new queue's doorbell already. No command can be executed between the destruction
// and the clearing.
void doorbell_pages::forget(const freehca_model_uar_page& page) {
  for (const std::uint64_t at : {page.doorbells, page.blueflame})
    if (at != 0 && at + page.bytes <= bytes_) std::memset(at_ + at, 0, page.bytes);
}

bool doorbell_pages::in_use(const freehca_model* model) {
  if (!begun()) return false;
  if (changes_ != freehca_model_uar_page_changes(model)) find_pages(model);
  return !pages_.empty();
}

// Reads first, because an exchange takes the cache line away from the other processor.
template <class Word>
Word doorbell_pages::take(std::uint64_t offset) {
  auto* const word = static_cast<Word*>(static_cast<void*>(at_ + offset));
  if (__atomic_load_n(word, __ATOMIC_RELAXED) == 0) return 0;
  return __atomic_exchange_n(word, Word{0}, __ATOMIC_ACQ_REL);
}

// If UAR pages are larger than 4 KiB (INIT_HCA), some mapped pages have doorbells of event queues.
// Their value is a state: the consumer's index and whether the queue is armed. Of several stores
// only the last one counts.
bool doorbell_pages::take_events(freehca_model* model, const freehca_model_uar_page& page,
                                 bool forward) {
  bool rang = false;
  for (unsigned i = 0; page.number < uar::eq_pages && i < uar::eq_doorbells_per_page; ++i) {
    const std::uint64_t at = page.doorbells + uar::eq_doorbell + i * uar::eq_doorbell_stride;
    const auto word = take<std::uint32_t>(at);
    if (word == 0) continue;
    rang = true;
    if (!forward) continue;
    const bool swapped = std::endian::native == std::endian::little;
    freehca_model_write_uar(model, at, swapped ? __builtin_bswap32(word) : word, sizeof word);
  }
  return rang;
}

// No doorbell is zero. A send doorbell is QPN << 8, and QPN 0 belongs to the firmware. The doorbell
// that arms a CQ has a command in its first word (layouts/doorbell.hpp).
bool doorbell_pages::look_at(freehca_model* model, const freehca_model_uar_page& page,
                             bool forward) {
  bool sends = take<std::uint32_t>(page.doorbells + uar::send_doorbell) != 0;
  const bool completions = take<std::uint64_t>(page.doorbells + uar::cq_doorbell) != 0;
  if (page.blueflame != 0)
    for (std::uint64_t at = 0; at < page.bytes; at += blueflame_half)
      sends = take<std::uint64_t>(page.blueflame + at) != 0 || sends;
  const bool events = take_events(model, page, forward);
  if ((sends || completions) && forward)
    freehca_model_look_at_uar(model, page.number, sends, completions);
  return sends || completions || events;
}

bool doorbell_pages::look(freehca_model* model, bool forward, std::size_t most) {
  if (!in_use(model)) return false;
  std::size_t rang = 0;
  const std::size_t all = pages_.size();
  if (next_ >= all) next_ = 0;
  for (std::size_t i = 0; i < all && rang < most; ++i) {
    if (look_at(model, pages_[next_], forward)) ++rang;
    if (++next_ == all) next_ = 0;
  }
  return rang != 0;
}

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lends blocks to the device and takes them back. One MAP_ICM maps many blocks, one UNMAP_ICM
// unmaps neighbours.
#include <freehca/hca/context_tables.hpp>

namespace freehca {

void context_tables::start_mapping() {
  if (!mapping_.empty()) return;
  unsigned entries = 0;
  while (block* b = map_pending_.front()) {
    if (b->references == 0) {
      b->unlink();
      b->state = block_state::absent;
      if (!b->pages.empty()) take_back(*b);
      continue;
    }
    if (entries == layouts::map_entries_per_mailbox) break;
    if (const status s = lend(*b); !s.ok()) {
      // If memory is being taken back, it may be enough, and the block waits for it. If no memory
      // is being taken back, the requests for the block fail.
      release_spares();
      if (entries > 0 || !unmapping_.empty() || !unmap_pending_.empty()) break;
      b->unlink();
      b->state = block_state::absent;
      fail_requests_on(*b, s, which::those_that_map);
      // The requests for this block end before another block is tried. Their users may release
      // memory that the other requests need.
      fresh_ = true;
      break;
    }
    const unsigned used = write_entries(*b, entries);
    if (used == 0) break;
    if (entries == 0) map_.restart();
    entries += used;
    send(*b);
  }
  if (entries == 0) return;
  map_.set_input(entries_, entries);
  map_.then(&on_mapped, this);
  commands_->submit(map_);
}

/// Adds a block to the MAP_ICM that is being made.
void context_tables::send(block& b) {
  b.unlink();
  b.state = block_state::mapping;
  map_.put_at_risk(b.at_risk);
  mapping_.push_back(b);
}

status context_tables::lend(block& b) {
  if (!b.pages.empty()) return {};
  FREEHCA_TRY(lender_->take(layout_->block_pages(b.table), b.pages));
  b.at_risk.set_amount(lease_kind::page, b.pages.pages);
  ++blocks_lent_;
  return {};
}

/// Appends the entries of a block to the MAP_ICM that is being made. Returns the number of entries,
/// or 0 if they do not fit. Each entry is as large as the alignment of both addresses allows (Linux
/// 6.1 fw.c mlx4_map_cmd).
unsigned context_tables::write_entries(const block& b, unsigned at) {
  using entry = layouts::map_entry;
  unsigned runs = 0;
  for (std::uint32_t i = b.pages.first; i != page_run::none; i = lender_->run(i).next) ++runs;
  if (runs > layouts::map_entries_per_mailbox - at) return 0;
  std::uint64_t address = block_address(b);
  for (std::uint32_t i = b.pages.first; i != page_run::none; i = lender_->run(i).next, ++at) {
    const page_run& run = lender_->run(i);
    const dma_region memory = lender_->region(run);
    entries_[at] = {};
    entries_[at]
        .set<&entry::va>(address)
        .set<&entry::pa>(memory.device_address)
        .set<&entry::log2size>(run.log_pages);
    address += memory.bytes;
  }
  return runs;
}

void context_tables::on_mapped(operation&, void* self) noexcept {
  static_cast<context_tables*>(self)->end_mapping();
}

void context_tables::on_unmapped(operation&, void* self) noexcept {
  static_cast<context_tables*>(self)->end_unmapping();
}

void context_tables::end_mapping() {
  fresh_ = true;
  const status outcome = map_.outcome();
  while (block* b = mapping_.pop_front()) {
    if (outcome.ok()) {
      b->state = block_state::mapped;
      if (b->references == 0) give_up(*b);
      continue;
    }
    if (b->at_risk.in_doubt()) b->state = block_state::doubtful;
    else take_back(*b);
    fail_requests_on(*b, outcome, which::those_that_map);
  }
}

void context_tables::start_unmapping() {
  if (held_up_may_go())
    while (block* b = held_up_.pop_front()) unmap_pending_.push_back(*b);
  if (!unmapping_.empty()) return;
  block* const first = unmap_pending_.pop_front();
  if (first == nullptr) return;
  unmap_.restart();
  first->state = block_state::unmapping;
  unmapping_.push_back(*first);
  add_neighbours(*first);
  std::uint32_t pages = 0;
  for (block* b = unmapping_.front(); b != nullptr; b = unmapping_.next(*b)) {
    pages += b->pages.pages;
    unmap_.put_at_risk(b->at_risk);
  }
  unmap_.aim(block_address(*unmapping_.front()), pages);
  unmap_.then(&on_unmapped, this);
  commands_->submit(unmap_);
}

/// Adds the neighbours of a block that are in state unmap_pending to unmapping_, in the order of
/// their addresses.
void context_tables::add_neighbours(block& b) {
  const auto t = static_cast<unsigned>(b.table);
  const auto take = [this](block& other, bool before) {
    if (other.state != block_state::unmap_pending) return false;
    other.unlink();
    other.state = block_state::unmapping;
    if (before) unmapping_.push_front(other);
    else unmapping_.push_back(other);
    return true;
  };
  for (std::uint32_t i = b.index; i > 0 && take(at(b.table, i - 1), true); --i) {
  }
  const std::uint32_t end = first_block_of_[t + 1] - first_block_of_[t];
  for (std::uint32_t i = b.index + 1; i < end && take(at(b.table, i), false); ++i) {
  }
}

void context_tables::end_unmapping() {
  fresh_ = true;
  const status outcome = unmap_.outcome();
  while (block* b = unmapping_.pop_front()) {
    if (!outcome.ok()) {
      b->unmap_in_doubt = b->at_risk.in_doubt();
      fail_requests_on(*b, outcome, which::all);
      if (b->unmap_in_doubt) {
        b->state = block_state::doubtful;
      } else if (outcome.is(transport_error::timeout) &&
                 commands_->in_doubt(lease_kind::slot) > 0) {
        // The command was not posted, so the firmware does not know of it.
        b->state = block_state::unmap_pending;
        held_up_.push_back(*b);
      } else {
        b->state = block_state::held_until_reset;
      }
      continue;
    }
    take_back(*b);
    if (b->references == 0) continue;
    b->state = block_state::map_pending;
    map_pending_.push_back(*b);
  }
}

void context_tables::take_back(block& b) {
  lender_->give_back(b.pages);
  b.state = block_state::absent;
  --blocks_lent_;
}

void context_tables::settled(lease&, const settlement& end, void* of) noexcept {
  block& b = *static_cast<block*>(of);
  context_tables& self = *b.owner;
  if (b.state != block_state::doubtful) return;
  self.fresh_ = true;
  if (end.by_reset) return self.take_back(b);
  const bool was_unmap = b.unmap_in_doubt;
  b.unmap_in_doubt = false;
  if (was_unmap == end.answer.ok()) {
    // A late answer: UNMAP_ICM succeeded, or MAP_ICM failed.
    self.take_back(b);
  } else if (was_unmap) {
    b.state = block_state::held_until_reset;
  } else {
    // MAP_ICM succeeded late, so the device has the block. No request wants it: all failed when the
    // answer did not come.
    b.state = block_state::unmap_pending;
    self.unmap_pending_.push_back(b);
  }
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lends blocks to the device and takes them back. One MAP_ICM maps many blocks, one UNMAP_ICM
// unmaps neighbours.
#include <freehca/hca/context_tables.hpp>

#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

void context_tables::start_mapping() {
  if (!mapping_.empty()) return;
  unsigned entries = 0;
  while (block* b = map_pending_.front()) {
    if (b->references == 0) {
      b->unlink();
      b->state = block_state::absent;
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
    if (entries == 0) map_.restart();
    b->unlink();
    b->state = block_state::mapping;
    mapping_.push_back(*b);
    map_.put_at_risk(b->at_risk);
    // Both addresses are aligned to the size of the block.
    using entry = layouts::map_entry;
    entries_[entries] = {};
    entries_[entries++]
        .set<&entry::va>(block_address(*b))
        .set<&entry::pa>(b->memory.device_address)
        .set<&entry::log2size>(layouts::lowest_bit(layout_->block_pages(b->table)));
  }
  if (entries == 0) return;
  map_.set_input(entries_, entries);
  map_.then(&on_mapped, this);
  commands_->submit(map_);
}

status context_tables::lend(block& b) {
  const std::uint32_t pages = layout_->block_pages(b.table);
  const std::size_t bytes = std::size_t{layouts::icm_page_size} * pages;
  const result<dma_region> memory = arena_.allocate(bytes, bytes);
  if (!memory.ok()) return memory.error();
  b.memory = memory.value();
  b.at_risk.set_amount(lease_kind::page, pages);
  ++blocks_lent_;
  return {};
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
    if (b->at_risk.in_doubt()) b->state = block_state::doubtful_mapping;
    else take_back(*b);
    fail_requests_on(*b, outcome, which::those_that_map);
  }
}

void context_tables::start_unmapping() {
  if (held_up_may_go())
    while (block* b = held_up_.pop_front()) unmap_pending_.push_back(*b);
  if (!unmapping_.empty()) return;
  block* b = unmap_pending_.front();
  if (b == nullptr) return;
  // Take all neighbours that are pending too, in the order of their addresses.
  const auto unmaps_with = [](const block& one, const block& other) {
    return other.table == one.table && other.state == block_state::unmap_pending;
  };
  while (b->index > 0 && unmaps_with(*b, b[-1])) --b;
  unmap_.restart();
  std::uint32_t pages = 0;
  const std::uint64_t first = block_address(*b);
  const block* const end = blocks_ + first_block_of_[context_tables_count];
  do {
    b->unlink();
    b->state = block_state::unmapping;
    unmapping_.push_back(*b);
    unmap_.put_at_risk(b->at_risk);
    pages += layout_->block_pages(b->table);
    ++b;
  } while (b != end && unmaps_with(b[-1], *b));
  unmap_.aim(first, pages);
  unmap_.then(&on_unmapped, this);
  commands_->submit(unmap_);
}

void context_tables::end_unmapping() {
  fresh_ = true;
  const status outcome = unmap_.outcome();
  while (block* b = unmapping_.pop_front()) {
    if (!outcome.ok()) {
      fail_requests_on(*b, outcome, which::all);
      if (b->at_risk.in_doubt()) {
        b->state = block_state::doubtful_unmapping;
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
  arena_.free(b.memory);
  b.memory = {};
  b.state = block_state::absent;
  --blocks_lent_;
}

void context_tables::settled(lease&, const settlement& end, void* of) noexcept {
  block& b = *static_cast<block*>(of);
  context_tables& self = *b.owner;
  const bool was_unmap = b.state == block_state::doubtful_unmapping;
  if (!was_unmap && b.state != block_state::doubtful_mapping) return;
  self.fresh_ = true;
  // A reset, or a late answer: UNMAP_ICM succeeded, or MAP_ICM failed.
  if (end.by_reset || was_unmap == end.answer.ok()) return self.take_back(b);
  if (was_unmap) {
    b.state = block_state::held_until_reset;
  } else {
    // MAP_ICM succeeded late, so the device has the block. No request wants it: all failed when the
    // answer did not come.
    b.state = block_state::unmap_pending;
    self.unmap_pending_.push_back(b);
  }
}

}  // namespace freehca

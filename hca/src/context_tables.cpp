// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The chunks of context memory: where they are, and the queues they wait in.
#include <freehca/hca/context_tables.hpp>

#include <freehca/hal/storage.hpp>

#include <new>

namespace freehca {

void context_tables::open(const budget& b, const context_layout& layout, channel& commands,
                          page_lender& lender, std::byte* storage) {
  layout_ = &layout;
  commands_ = &commands;
  lender_ = &lender;
  using entry = layouts::image<layouts::map_entry>;
  entries_ = storage_for<entry>(storage);
  for (unsigned i = 0; i < layouts::map_entries_per_mailbox; ++i)
    new (storage + i * sizeof(entry)) entry;
  storage += layouts::map_entries_per_mailbox * sizeof(entry);
  chunks_ = storage_for<chunk>(storage);
  chunk_count_ = 0;
  for (unsigned g = 0; g < context_groups; ++g) {
    const auto group = static_cast<context_group>(g);
    first_chunk_of_[g] = chunk_count_;
    const auto count = static_cast<std::uint32_t>(context_layout::chunks_for(b, group));
    for (std::uint32_t i = 0; i < count; ++i) {
      auto* c = new (storage + (chunk_count_ + i) * sizeof(chunk)) chunk(*this);
      c->group = group;
      c->index = i;
    }
    chunk_count_ += count;
  }
}

void context_tables::close() {
  FREEHCA_ASSERT(chunks_lent_ == 0 && idle());
  for (std::uint32_t i = 0; i < chunk_count_; ++i) chunks_[i].~chunk();
  chunks_ = nullptr;
  chunk_count_ = 0;
}

bool context_tables::idle() const {
  return waiting_.empty() && !mapping_under_way_ && unmapping_ == nullptr &&
         wanted_.first == nullptr && unwanted_.first == nullptr;
}

void context_tables::poll() {
  if (!is_open()) return;
  if (mapping_under_way_ && map_.done()) end_mapping();
  if (unmapping_ != nullptr && unmap_.done()) end_unmapping();
  finish_requests();
  start_unmapping();
  start_mapping();
  finish_requests();
}

void context_tables::forget() {
  if (!is_open()) return;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    chunk& c = chunks_[i];
    if (!c.pages.empty()) take_back(c);
    c.state = chunk_state::absent;
    c.references = 0;
    c.next = nullptr;
    c.queued = false;
  }
  wanted_ = mapping_ = unwanted_ = {};
  unmapping_ = nullptr;
  mapping_under_way_ = false;
  for (context_request* r = waiting_.front(); r != nullptr; r = waiting_.next(*r)) {
    r->trouble_ = transport_error::reset;
    r->end_chunk_ = r->first_chunk_;  // it holds nothing any more
  }
  finish_requests();
}

context_tables::chunk& context_tables::at(context_group group, std::uint32_t index) const {
  return chunks_[first_chunk_of_[static_cast<unsigned>(group)] + index];
}

std::uint32_t context_tables::number_of(const chunk& c) const {
  return c.index << context_layout::shape(c.group).log_chunk;
}

void context_tables::push(chunk_queue& q, chunk& c) {
  if (c.queued) return;
  c.queued = true;
  c.next = nullptr;
  (q.last == nullptr ? q.first : q.last->next) = &c;
  q.last = &c;
}

context_tables::chunk* context_tables::pop(chunk_queue& q) {
  chunk* c = q.first;
  if (c == nullptr) return nullptr;
  q.first = c->next;
  if (q.first == nullptr) q.last = nullptr;
  c->next = nullptr;
  c->queued = false;
  return c;
}

std::uint64_t context_tables::range_bytes(context_group group, unsigned range) const {
  const context_layout::group_shape s = context_layout::shape(group);
  const unsigned objects = layout_->log_objects[static_cast<unsigned>(group)];
  const unsigned log = layout_->tables[static_cast<unsigned>(s.first) + range].log_entry_bytes +
                       (objects < s.log_chunk ? objects : s.log_chunk);
  const std::uint64_t bytes = std::uint64_t{1} << log;
  return bytes < layouts::icm_page_size ? layouts::icm_page_size : bytes;
}

std::uint64_t context_tables::range_address(const chunk& c, unsigned range) const {
  const unsigned first = static_cast<unsigned>(context_layout::shape(c.group).first);
  return address(static_cast<context_table>(first + range), number_of(c));
}

dma_region context_tables::memory(context_table table, std::uint32_t number) const {
  for (unsigned g = 0; g < context_groups; ++g) {
    const auto group = static_cast<context_group>(g);
    const context_layout::group_shape s = context_layout::shape(group);
    const unsigned range = static_cast<unsigned>(table) - static_cast<unsigned>(s.first);
    if (table < s.first || range >= s.tables) continue;
    const chunk& c = at(group, number >> s.log_chunk);
    FREEHCA_ASSERT(!c.pages.empty());
    std::uint64_t skip = address(table, number) - range_address(c, range);
    for (unsigned r = 0; r < range; ++r) skip += range_bytes(group, r);
    std::uint64_t end = 0;
    for (unsigned r = 0; r <= range; ++r) end += range_bytes(group, r);
    std::uint64_t at_byte = 0;
    for (std::uint32_t i = c.pages.first; i != page_run::none; i = lender_->run(i).next) {
      const dma_region region = lender_->region(lender_->run(i));
      if (skip - at_byte < region.bytes) {
        const std::uint64_t in_run = skip - at_byte;
        const std::uint64_t left =
            end - skip < region.bytes - in_run ? end - skip : region.bytes - in_run;
        return region.part(static_cast<std::size_t>(in_run), static_cast<std::size_t>(left));
      }
      at_byte += region.bytes;
    }
  }
  return {};
}

bool context_tables::mapped(context_group group, std::uint32_t number) const {
  return at(group, number >> context_layout::shape(group).log_chunk).state == chunk_state::mapped;
}

std::uint64_t context_tables::bytes_lent(context_table table) const {
  if (!is_open()) return 0;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < chunk_count_; ++i) {
    const chunk& c = chunks_[i];
    const context_layout::group_shape s = context_layout::shape(c.group);
    const unsigned range = static_cast<unsigned>(table) - static_cast<unsigned>(s.first);
    if (!c.pages.empty() && table >= s.first && range < s.tables)
      sum += range_bytes(c.group, range);
  }
  return sum;
}

}  // namespace freehca

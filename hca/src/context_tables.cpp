// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The blocks of context memory: their addresses, and their memory.
#include <freehca/hca/context_tables.hpp>

#include <freehca/hal/cache.hpp>
#include <freehca/hal/storage.hpp>
#include <freehca/layouts/mtt.hpp>

#include <new>

namespace freehca {

status context_tables::open(const budget& b, const context_layout& layout, const platform& host,
                            channel& commands, const dma_region& memory, std::byte* storage) {
  const std::size_t bytes = dma_arena::storage_bytes_for(memory.bytes);
  FREEHCA_TRY(arena_.open(memory, dma_arena::page, storage, bytes,
                          static_cast<unsigned>(budget::item::lent_pages)));
  storage += bytes;
  layout_ = &layout;
  platform_ = host;
  commands_ = &commands;
  most_spares_ = b.spare_context_blocks;
  spare_ns_ = b.spare_context_ns;
  using entry = layouts::image<layouts::map_entry>;
  entries_ = storage_for<entry>(storage);
  for (unsigned i = 0; i < layouts::map_entries_per_mailbox; ++i)
    new (storage + i * sizeof(entry)) entry;
  storage += layouts::map_entries_per_mailbox * sizeof(entry);
  blocks_ = storage_for<block>(storage);
  std::uint32_t count = 0;
  for (unsigned t = 0; t < context_tables_count; ++t) {
    const auto table = static_cast<context_table>(t);
    first_block_of_[t] = count;
    for (std::uint32_t i = 0; i < layout.blocks(table); ++i, ++count) {
      auto* made = new (storage + count * sizeof(block)) block(*this);
      made->table = table;
      made->index = i;
    }
  }
  first_block_of_[context_tables_count] = count;
  return {};
}

void context_tables::close() {
  FREEHCA_ASSERT(blocks_lent_ == 0 && idle());
  for (std::uint32_t i = 0; i < first_block_of_[context_tables_count]; ++i) blocks_[i].~block();
  blocks_ = nullptr;
  arena_.close();
}

bool context_tables::idle() const {
  return waiting_.empty() && mapping_.empty() && unmapping_.empty() && map_pending_.empty() &&
         unmap_pending_.empty();
}

unsigned context_tables::poll(std::uint64_t now) {
  // poll() is called with each device::poll(). Check the waiting requests only if something has
  // happened.
  if (!is_open() || next_work() > now) return 0;
  if (!spares_.empty() && now >= spares_due_) release_spares();
  fresh_ = false;
  const unsigned ended = finish_requests();
  start_unmapping();
  start_mapping();
  return ended + finish_requests();
}

void context_tables::forget() {
  if (!is_open()) return;
  for (std::uint32_t i = 0; i < first_block_of_[context_tables_count]; ++i) {
    block& b = blocks_[i];
    b.unlink();
    if (b.memory.bytes != 0) take_back(b);
    b.state = block_state::absent;
    b.references = 0;
  }
  spare_count_ = 0;
  objects_held_ = 0;
  fresh_ = false;
  for (context_request* r = waiting_.front(); r != nullptr; r = waiting_.next(*r)) {
    r->trouble_ = transport_error::reset;
    for (context_range& o : r->ranges_) o = {};
  }
  finish_requests();
}

context_tables::block& context_tables::at(context_table table, std::uint32_t index) const {
  const auto t = static_cast<unsigned>(table);
  FREEHCA_ASSERT(first_block_of_[t] + index < first_block_of_[t + 1]);
  return blocks_[first_block_of_[t] + index];
}

std::uint64_t context_tables::block_address(const block& b) const {
  return address(b.table, b.index << layout_->table(b.table).log_block);
}

dma_region context_tables::memory(context_table table, std::uint32_t number) const {
  const block& b = at(table, number >> layout_->table(table).log_block);
  const auto skip = static_cast<std::size_t>(address(table, number) - block_address(b));
  FREEHCA_ASSERT(skip < b.memory.bytes);
  return b.memory.part(skip, b.memory.bytes - skip);
}

void context_tables::write_translations(std::uint32_t first, std::uint32_t count,
                                        const page_list& pages) const {
  // The driver of the physical function may write translation entries in context memory itself
  // (Linux 6.1 mr.c mlx4_write_mtt_chunk). The device itself writes translation entries without
  // pages (fast registration).
  const std::size_t given = pages.pages();
  for (std::uint32_t i = 0; i < count && i < given; ++i) {
    std::byte* const at = memory(context_table::mtt, first + i).host;
    const auto entry = layouts::image<layouts::mtt>()
                           .set<&layouts::mtt::ptag>(pages.page(i))
                           .set<&layouts::mtt::present>(true);
    // The device may have written to the cache line when the memory was lent.
    cache::invalidate(at, layouts::mtt::bytes);
    dma::store_be64(at, layouts::load_be<std::uint64_t>(entry.data()));
    cache::clean(at, layouts::mtt::bytes);
  }
}

bool context_tables::mapped(context_group group, std::uint32_t number) const {
  const context_layout::group_shape s = context_layout::shape(group);
  for (unsigned i = 0; i < s.tables; ++i) {
    const auto table = static_cast<context_table>(static_cast<unsigned>(s.first) + i);
    const block_state is = at(table, number >> layout_->table(table).log_block).state;
    if (is != block_state::mapped && is != block_state::spare) return false;
  }
  return true;
}

std::uint64_t context_tables::bytes_lent(context_table table) const {
  if (!is_open()) return 0;
  std::uint64_t bytes = 0;
  const auto t = static_cast<unsigned>(table);
  for (std::uint32_t i = first_block_of_[t]; i < first_block_of_[t + 1]; ++i)
    bytes += blocks_[i].memory.bytes;
  return bytes;
}

}  // namespace freehca

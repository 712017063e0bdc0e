// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/icm.hpp>
#include <freehca/hal/operation.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/context_layout.hpp>
#include <freehca/hca/page_lender.hpp>

namespace freehca {

/// Asks for context memory of objects, or gives it up. Outcomes besides those of MAP_ICM and UNMAP_ICM:
/// driver_error::no_memory (budget::item::lent_pages), ::bad_argument (numbers beyond the table), ::busy (the
/// chunk is in doubt after a command that was not answered).
class context_request : public operation {
 private:
  friend class context_tables;
  context_group group_{};
  std::uint32_t first_chunk_ = 0, end_chunk_ = 0;
  status trouble_;
  bool maps_ = false;
};

/// Context memory (ICM) as the driver lends it to the device: per group of dependent tables, in chunks of
/// equally many objects; a chunk is mapped in all tables of its group when the first object in it is asked
/// for, and taken back when the last is given up. One MAP_ICM takes as many waiting chunks as its mailbox
/// holds, and requests for a chunk that is under way join. Control owner's thread only.
class context_tables {
 public:
  static constexpr std::size_t storage_bytes_for(const budget& b);

  context_tables() = default;
  context_tables(const context_tables&) = delete;
  context_tables& operator=(const context_tables&) = delete;

  /// Everything outlives the tables; `storage` is storage_bytes_for(b), aligned to 16.
  void open(const budget& b, const context_layout& layout, channel& commands, page_lender& lender,
            std::byte* storage);
  /// Nothing may be lent: see forget().
  void close();
  bool is_open() const { return chunks_ != nullptr; }

  /// Completes when objects [first, first + count) have context memory in all tables of the group. On any
  /// error nothing is held.
  void map(context_request& r, context_group group, std::uint32_t first, std::uint32_t count = 1);
  /// Gives up what one map() got; completes when the device has let go of what nobody needs any more. An
  /// error of UNMAP_ICM is told, but the objects are given up all the same: the pages stay out until a reset.
  void unmap(context_request& r, context_group group, std::uint32_t first, std::uint32_t count = 1);

  /// Completes what ended, starts what waits. Called by the device's poll().
  void poll();
  bool idle() const;

  /// The device was reset, or the firmware's state is gone for another reason: all pages come back, requests
  /// under way end with transport_error::reset, references count no more.
  void forget();

  /// Memory behind the entry of object `number`, from there to the end of what is contiguous. The object must be
  /// mapped. Written by the driver for the translation table (hardware's contract) and for a dMPT's status
  /// at re-registration only, through the dma accessors.
  dma_region memory(context_table table, std::uint32_t number) const;
  bool mapped(context_group group, std::uint32_t number) const;

  /// Address in context memory of an entry, and the offset from the table's start that MTT references take.
  std::uint64_t address(context_table table, std::uint32_t number) const {
    return layout_->table(table).base +
           (std::uint64_t{number} << layout_->table(table).log_entry_bytes);
  }
  std::uint64_t translation_offset(std::uint32_t mtt) const {
    return std::uint64_t{mtt} << layout_->table(context_table::mtt).log_entry_bytes;
  }

  const context_layout& layout() const { return *layout_; }
  std::uint64_t bytes_lent(context_table table) const;
  std::uint32_t chunks_lent() const { return chunks_lent_; }  ///< also those in doubt

 private:
  enum class chunk_state : std::uint8_t {
    absent,
    wanted,
    mapping,
    mapped,
    unwanted,
    unmapping,
    doubtful,
    stuck
  };
  struct chunk;
  struct chunk_queue {
    chunk* first = nullptr;
    chunk* last = nullptr;
  };

  chunk& at(context_group group, std::uint32_t index) const;
  std::uint32_t number_of(const chunk& c) const;
  void push(chunk_queue& q, chunk& c);
  chunk* pop(chunk_queue& q);
  std::uint64_t range_bytes(context_group group, unsigned range) const;
  std::uint64_t range_address(const chunk& c, unsigned range) const;

  // context_requests.cpp: who wants what
  void start(context_request& r, context_group group, std::uint32_t first, std::uint32_t count,
             bool maps);
  void reference(chunk& c);
  void release(chunk& c);
  void fail_requests_on(const chunk& c, status why);
  bool fulfilled(context_request& r) const;
  void finish_requests();
  static void on_cancel(operation& op, void* self) noexcept;

  // context_lending.cpp: MAP_ICM, UNMAP_ICM
  void start_mapping();
  status lend(chunk& c);
  unsigned write_entries(const chunk& c, unsigned at);
  void end_mapping();
  void start_unmapping();
  void submit_unmap(chunk& c);
  void end_unmapping();
  void take_back(chunk& c);
  static void settled(lease& which, const settlement& how, void* of) noexcept;

  const context_layout* layout_ = nullptr;
  channel* commands_ = nullptr;
  page_lender* lender_ = nullptr;
  chunk* chunks_ = nullptr;
  layouts::image<layouts::map_entry>* entries_ = nullptr;  // of the MAP_ICM under way
  std::uint32_t first_chunk_of_[context_groups] = {};
  std::uint32_t chunk_count_ = 0;
  std::uint32_t chunks_lent_ = 0;

  chunk_queue wanted_, mapping_, unwanted_;
  chunk* unmapping_ = nullptr;
  bool mapping_under_way_ = false;
  list<context_request> waiting_;
  firmware_command<commands::map_icm> map_;
  firmware_command<commands::unmap_icm> unmap_{std::uint64_t{0}, std::uint32_t{0}};
};

struct context_tables::chunk {
  context_tables* owner;
  chunk* next = nullptr;  // in one of the queues
  lent_pages pages;
  std::uint32_t references = 0;
  std::uint32_t index = 0;  // in its group
  context_group group{};
  chunk_state state = chunk_state::absent;
  std::uint8_t unmapped_ranges = 0;  // tables that the device has given back already
  bool queued = false;
  bool unmap_in_doubt = false;  // with state doubtful: it is UNMAP_ICM that was not answered
  lease pages_at_risk;
  lease mapping_at_risk;

  explicit chunk(context_tables& o)
      : owner(&o),
        pages_at_risk(lease_kind::page, 0, &context_tables::settled, this),
        mapping_at_risk(lease_kind::mapping, 1, nullptr, nullptr) {}
};

constexpr std::size_t context_tables::storage_bytes_for(const budget& b) {
  std::size_t chunks = 0;
  for (unsigned g = 0; g < context_groups; ++g)
    chunks += context_layout::chunks_for(b, static_cast<context_group>(g));
  return layouts::map_entries_per_mailbox * sizeof(layouts::image<layouts::map_entry>) +
         chunks * sizeof(chunk);
}

}  // namespace freehca

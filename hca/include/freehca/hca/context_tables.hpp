// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/icm.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/hal/dma_arena.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/page_list.hpp>
#include <freehca/hal/platform.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/context_layout.hpp>

namespace freehca {

/// Objects [first, first + count) of a group.
struct context_range {
  context_group group{};
  std::uint32_t first = 0, count = 0;
};

/// A request to map or to release context memory of objects. Outcomes besides those of MAP_ICM and
/// UNMAP_ICM: driver_error::no_memory (budget::item::lent_pages), ::bad_argument (a number is
/// beyond the table), ::busy (a block is in doubt, or the device did not give it back),
/// ::cancelled, transport_error::timeout (the deadline has passed), ::reset. A mapping request that
/// fails holds nothing.
class context_request : public operation {
 public:
  [[gnu::noinline]] constexpr context_request() {}
  ~context_request();

 private:
  friend class context_tables;
  static constexpr unsigned most_ranges = 2;
  context_range ranges_[most_ranges];  // of different groups; if empty, the request holds nothing
  status trouble_;
  bool maps_ = false;
  bool held_ = false;  // the request has ended, and its objects are mapped
};

/// The context memory (ICM) that the driver lends to the device. An object has an entry in each
/// table of its group. A table is divided into blocks, usually of one page. The memory of a block
/// is contiguous for the device. An object holds a reference to the block of each table that has
/// its entry.
///
/// A block is mapped when the first object asks for it. When the last object releases it, the block
/// becomes a spare block. The driver takes a spare block back after a while: see
/// budget::spare_context_blocks and ::spare_context_ns. One MAP_ICM maps as many pending blocks as
/// its mailbox holds. One UNMAP_ICM takes back neighbours. If a block is being mapped already, a
/// further request waits for the same MAP_ICM. Only the control owner's thread uses this class.
class context_tables {
 public:
  static constexpr std::size_t storage_bytes_for(const budget& b);

  context_tables() = default;
  context_tables(const context_tables&) = delete;
  context_tables& operator=(const context_tables&) = delete;

  /// All arguments outlive the tables. `memory` has b.context_bytes bytes for the blocks, in whole
  /// pages. `storage` has storage_bytes_for(b) bytes, aligned to 16. Errors: those of
  /// dma_arena::open().
  status open(const budget& b, const context_layout& layout, const platform& host,
              channel& commands, const dma_region& memory, std::byte* storage);
  /// No context memory may be lent: see forget().
  void close();
  bool is_open() const { return blocks_ != nullptr; }
  /// The memory of the blocks.
  dma_arena& arena() { return arena_; }
  const dma_arena& arena() const { return arena_; }

  /// Maps the objects of two ranges. The ranges are of different groups, and each may be empty. The
  /// request completes when these objects have context memory in all tables of their groups. On any
  /// error it holds nothing.
  void map(context_request& r, const context_range& objects, const context_range& more = {}) {
    start(r, objects, more, true);
  }
  /// Releases the objects of one map(). The request completes when the blocks that are taken back
  /// at once have come back. If UNMAP_ICM fails, the request ends with that error, but the objects
  /// are released nevertheless. The pages then stay lent: until a late answer or a reset if the
  /// command was not answered, and until a reset if the firmware refused it. If the command was
  /// never posted, the driver sends it again later.
  void unmap(context_request& r, const context_range& objects, const context_range& more = {}) {
    start(r, objects, more, false);
  }
  /// Begins to take back all spare blocks.
  void release_spares();

  /// Completes the requests that have ended, and starts the next commands. Called by the device's
  /// poll(), which has read the clock. Returns the number of operations completed.
  unsigned poll(std::uint64_t now);
  bool idle() const;
  /// The time at which poll() has work. 0 if a command can be started or a request can end, else
  /// the time at which spare blocks are taken back, or clock::never.
  std::uint64_t next_work() const {
    if (fresh_ || held_up_may_go()) return 0;
    return spares_.empty() ? clock::never : spares_due_;
  }

  /// Returns the first number, from `first` on, such that `count` objects from there on can get
  /// context memory. Skips blocks that are in doubt and blocks that the device did not give back.
  std::uint32_t first_usable(context_group group, std::uint32_t first, std::uint32_t count) const;

  /// Reports that the device was reset, or that the firmware has lost its state for another reason.
  /// All pages are taken back, all references are dropped, and requests under way end with
  /// transport_error::reset.
  void forget();

  /// Returns the memory of the entry of object `number`, from the entry to the end of its block.
  /// The object must be mapped. The driver writes only the translation table (as
  /// the hardware requires), and the status of a dMPT at re-registration. It uses the dma accessors
  /// for this.
  dma_region memory(context_table table, std::uint32_t number) const;
  bool mapped(context_group group, std::uint32_t number) const;
  /// Writes the pages to the translation entries [first, first + count), which are mapped. If there
  /// are fewer pages than entries, the other entries stay as they are. The next command that names
  /// the entries is posted after the writes.
  void write_translations(std::uint32_t first, std::uint32_t count, const page_list& pages) const;

  /// address() returns the address of an entry in context memory. translation_offset() returns the
  /// offset of an entry from the start of the MTT table, as references to MTTs need it.
  std::uint64_t address(context_table table, std::uint32_t number) const {
    return layout_->table(table).base +
           (std::uint64_t{number} << layout_->table(table).log_entry_bytes);
  }
  std::uint64_t translation_offset(std::uint32_t mtt) const {
    return std::uint64_t{mtt} << layout_->table(context_table::mtt).log_entry_bytes;
  }

  const context_layout& layout() const { return *layout_; }
  std::uint64_t bytes_lent(context_table table) const;
  std::uint32_t blocks_lent() const {
    return blocks_lent_;
  }  ///< including the spare blocks and the blocks in doubt
  std::uint32_t blocks_kept() const { return spare_count_; }  ///< spare blocks
  /// The number of objects that requests have mapped or are mapping. An object counts once for each
  /// request.
  std::uint64_t objects_held() const { return objects_held_; }

 private:
  enum class block_state : std::uint8_t {
    absent,
    map_pending,
    mapping,
    mapped,
    spare,  // mapped, without a user
    unmap_pending,
    unmapping,
    doubtful_mapping,    // MAP_ICM was not answered
    doubtful_unmapping,  // UNMAP_ICM was not answered
    held_until_reset,
  };
  struct block;

  block& at(context_table table, std::uint32_t index) const;
  std::uint64_t block_address(const block& b) const;
  block* next_block(const context_request& r, const block* b) const;

  // context_requests.cpp: references of requests to blocks
  void start(context_request& r, const context_range& objects, const context_range& more,
             bool maps);
  bool concerns(const context_request& r, const block& b) const;
  void give_back(context_request& r);
  void reference(block& b);
  void release(block& b);
  void give_up(block& b);
  enum class which : std::uint8_t { those_that_map, all };
  void fail_requests_on(const block& b, status why, which of);
  static bool usable(const block& b);
  bool fulfilled(const context_request& r) const;
  unsigned finish_requests();
  static void on_cancel(operation& op, void* self) noexcept;

  // context_lending.cpp: MAP_ICM, UNMAP_ICM
  void start_mapping();
  status lend(block& b);
  void end_mapping();
  void start_unmapping();
  bool held_up_may_go() const {
    return !held_up_.empty() && commands_->in_doubt(lease_kind::slot) == 0;
  }
  void end_unmapping();
  void take_back(block& b);
  // on_mapped() and on_unmapped() are called from the callback of the command, before its leases
  // are settled.
  static void on_mapped(operation& op, void* self) noexcept;
  static void on_unmapped(operation& op, void* self) noexcept;
  static void settled(lease& which, const settlement& end, void* of) noexcept;

  const context_layout* layout_ = nullptr;
  platform platform_;
  channel* commands_ = nullptr;
  dma_arena arena_;
  block* blocks_ = nullptr;
  // The entries of the MAP_ICM that is being made or in flight.
  layouts::image<layouts::map_entry>* entries_ = nullptr;
  std::uint32_t first_block_of_[context_tables_count + 1] = {};
  std::uint32_t blocks_lent_ = 0;
  std::uint64_t objects_held_ = 0;
  std::uint32_t spare_count_ = 0, most_spares_ = 0;
  std::uint64_t spare_ns_ = 0;
  std::uint64_t spares_due_ = 0;
  bool fresh_ = false;  // poll() has something to do

  list<block> map_pending_, mapping_, spares_, unmap_pending_, unmapping_;
  list<block> held_up_;  // to be unmapped, but UNMAP_ICM waits until no command is in doubt
  list<context_request> waiting_;
  firmware_command<commands::map_icm> map_;
  firmware_command<commands::unmap_icm> unmap_{std::uint64_t{0}, std::uint32_t{0}};
};

struct context_tables::block : list_node {
  context_tables* owner;
  dma_region memory;  // lent to the device
  std::uint32_t references = 0;
  std::uint32_t index = 0;  // in its table
  context_table table{};
  block_state state = block_state::absent;
  lease at_risk;

  explicit block(context_tables& o)
      : owner(&o), at_risk(lease_kind::mapping, 1, &context_tables::settled, this) {}
};

constexpr std::size_t context_tables::storage_bytes_for(const budget& b) {
  std::size_t blocks = 0;
  for (unsigned t = 0; t < context_tables_count; ++t)
    blocks += context_layout::most_blocks(b, static_cast<context_table>(t));
  return layouts::map_entries_per_mailbox * sizeof(layouts::image<layouts::map_entry>) +
         blocks * sizeof(block) +
         dma_arena::storage_bytes_for(b.context_bytes + dma_arena::page - 1);
}

}  // namespace freehca

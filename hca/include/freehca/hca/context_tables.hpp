// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/icm.hpp>
#include <freehca/hal/clock.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/platform.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/context_layout.hpp>
#include <freehca/hca/page_lender.hpp>

namespace freehca {

/// Asks for context memory of objects, or gives it up. Outcomes besides those of MAP_ICM and
/// UNMAP_ICM: driver_error::no_memory (budget::item::lent_pages), ::bad_argument (numbers beyond
/// the table), ::busy (a block is in doubt after a command that was not answered), ::cancelled, and
/// transport_error::timeout past its deadline: then it holds nothing.
class context_request : public operation {
 public:
  [[gnu::noinline]] constexpr context_request() {}
  ~context_request();

 private:
  friend class context_tables;
  context_group group_{};
  std::uint32_t first_ = 0, end_ = 0;  // objects; equal: it holds nothing
  status trouble_;
  bool maps_ = false;
  bool held_ = false;  // it has ended, and holds what it mapped
};

/// Context memory (ICM) as the driver lends it to the device. An object has an entry in each table
/// of its group; a table is divided into blocks, a page each, and an object holds the block of each
/// table that its entry lies in. A block is mapped when the first object asks for it. When the last
/// gives it up it is kept for a while, in case that another comes, and then taken back:
/// budget::spare_context_blocks and ::spare_context_ns. One MAP_ICM takes as many waiting blocks as
/// its mailbox holds, one UNMAP_ICM all neighbours that are due, and requests for a block that is
/// under way join. Control owner's thread only.
class context_tables {
 public:
  static constexpr std::size_t storage_bytes_for(const budget& b);

  context_tables() = default;
  context_tables(const context_tables&) = delete;
  context_tables& operator=(const context_tables&) = delete;

  /// Everything outlives the tables; `storage` is storage_bytes_for(b), aligned to 16.
  void open(const budget& b, const context_layout& layout, const platform& host, channel& commands,
            page_lender& lender, std::byte* storage);
  /// Nothing may be lent: see forget().
  void close();
  bool is_open() const { return blocks_ != nullptr; }

  /// Completes when objects [first, first + count) have context memory in all tables of the group.
  /// On any error nothing is held.
  void map(context_request& r, context_group group, std::uint32_t first, std::uint32_t count = 1) {
    start(r, group, first, count, true);
  }
  /// Gives up what one map() got; completes when what is taken back at once has come back. An error
  /// of UNMAP_ICM is told, but the objects are given up all the same: the pages stay out until a
  /// reset.
  void unmap(context_request& r, context_group group, std::uint32_t first,
             std::uint32_t count = 1) {
    start(r, group, first, count, false);
  }
  /// Takes back what is kept although nobody needs it.
  void release_spares();

  /// Completes what ended, starts what waits. Called by the device's poll(). Returns the number of
  /// requests that ended.
  unsigned poll();
  bool idle() const;
  /// When poll() has something to do: 0 when something can be begun, else when what is kept has to
  /// go; or never.
  std::uint64_t next_work() const {
    if (fresh_ || held_up_may_go()) return 0;
    return spares_.empty() ? clock::never : spares_due_;
  }

  /// The first number from `first` on behind which `count` objects may get context memory: not
  /// those of blocks that are in doubt, or that the device would not give back.
  std::uint32_t first_usable(context_group group, std::uint32_t first, std::uint32_t count) const;

  /// The device was reset, or the firmware's state is gone for another reason: all pages come back,
  /// requests under way end with transport_error::reset, references count no more.
  void forget();

  /// Memory behind the entry of object `number`, from there to the end of what is contiguous. The
  /// object must be mapped. Written by the driver for the translation table (hardware's contract)
  /// and for a dMPT's status at re-registration only, through the dma accessors.
  dma_region memory(context_table table, std::uint32_t number) const;
  bool mapped(context_group group, std::uint32_t number) const;

  /// Address in context memory of an entry, and the offset from the table's start that MTT
  /// references take.
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
  }  ///< also those kept, and those in doubt
  std::uint32_t blocks_kept() const { return spare_count_; }  ///< although nobody needs them
  /// Objects that requests have mapped or are mapping, each as often as it was asked for.
  std::uint64_t objects_held() const { return objects_held_; }

 private:
  enum class block_state : std::uint8_t {
    absent,
    wanted,
    mapping,
    mapped,
    spare,  // mapped, and nobody needs it
    unwanted,
    unmapping,
    doubtful,
    stuck
  };
  struct block;

  block& at(context_table table, std::uint32_t index) const;
  std::uint64_t block_address(const block& b) const;
  block* next_block(const context_request& r, const block* b) const;

  // context_requests.cpp: who wants what
  void start(context_request& r, context_group group, std::uint32_t first, std::uint32_t count,
             bool maps);
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
  void send(block& b);
  unsigned write_entries(const block& b, unsigned at);
  void end_mapping();
  void start_unmapping();
  void add_neighbours(block& b);
  bool held_up_may_go() const {
    return !held_up_.empty() && commands_->in_doubt(lease_kind::slot) == 0;
  }
  void end_unmapping();
  void take_back(block& b);
  // From the command's callback, and so ahead of the settlement of its leases.
  static void on_mapped(operation& op, void* self) noexcept;
  static void on_unmapped(operation& op, void* self) noexcept;
  static void settled(lease& which, const settlement& end, void* of) noexcept;

  const context_layout* layout_ = nullptr;
  platform platform_;
  channel* commands_ = nullptr;
  page_lender* lender_ = nullptr;
  block* blocks_ = nullptr;
  layouts::image<layouts::map_entry>* entries_ = nullptr;  // of the MAP_ICM under way
  std::uint32_t first_block_of_[context_tables_count + 1] = {};
  std::uint32_t blocks_lent_ = 0;
  std::uint64_t objects_held_ = 0;
  std::uint32_t spare_count_ = 0, most_spares_ = 0;
  std::uint64_t spare_ns_ = 0;
  std::uint64_t spares_due_ = 0;
  bool fresh_ = false;  // poll() has something to do

  list<block> wanted_, mapping_, spares_, unwanted_, unmapping_;
  list<block> held_up_;  // unwanted, but commands in doubt are in the way
  list<context_request> waiting_;
  firmware_command<commands::map_icm> map_;
  firmware_command<commands::unmap_icm> unmap_{std::uint64_t{0}, std::uint32_t{0}};
};

struct context_tables::block : list_node {
  context_tables* owner;
  lent_pages pages;
  std::uint32_t references = 0;
  std::uint32_t index = 0;  // in its table
  context_table table{};
  block_state state = block_state::absent;
  bool unmap_in_doubt = false;  // with state doubtful: it is UNMAP_ICM that was not answered
  lease pages_at_risk;
  lease mapping_at_risk;

  explicit block(context_tables& o)
      : owner(&o),
        pages_at_risk(lease_kind::page, 0, &context_tables::settled, this),
        mapping_at_risk(lease_kind::mapping, 1, nullptr, nullptr) {}
};

constexpr std::size_t context_tables::storage_bytes_for(const budget& b) {
  std::size_t blocks = 0;
  for (unsigned t = 0; t < context_tables_count; ++t)
    blocks += context_layout::most_blocks(b, static_cast<context_table>(t));
  return layouts::map_entries_per_mailbox * sizeof(layouts::image<layouts::map_entry>) +
         blocks * sizeof(block);
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>

namespace freehca {

/// The tables of context memory. Each object of a group has one entry in each table of the group.
enum class context_table : std::uint8_t {
  qpc,
  auxc,
  altc,
  rdmarc,
  cmpt_qp,
  srqc,
  cmpt_srq,
  cqc,
  cmpt_cq,
  eqc,
  cmpt_eq,
  dmpt,
  mtt,
  mcg,
};
inline constexpr unsigned context_tables_count = 14;

enum class context_group : std::uint8_t { qp, srq, cq, eq, mpt, mtt, mcg };
inline constexpr unsigned context_groups = 7;

/// The addresses of the tables in context memory, and the division of each table into blocks. The
/// driver lends context memory and takes it back by blocks.
struct context_layout {
  struct place {
    std::uint64_t base = 0;        ///< address in context memory
    unsigned log_entry_bytes = 0;  ///< size of all entries of an object in the table
    unsigned log_block = 0;        ///< objects of one block
  };
  struct group_shape {
    context_table first;  ///< the tables of the group are first, first + 1, ...
    unsigned tables;
  };

  place tables[context_tables_count];
  std::uint64_t cmpt_base = 0;
  std::uint64_t bytes = 0;  ///< size of all context memory, for SET_ICM_SIZE
  unsigned log_objects[context_groups] = {};
  unsigned log_mcg_hash = 0;

  const place& table(context_table t) const { return tables[static_cast<unsigned>(t)]; }

  static constexpr group_shape shape(context_group g) {
    constexpr group_shape shapes[context_groups] = {
        {context_table::qpc, 5}, {context_table::srqc, 2}, {context_table::cqc, 2},
        {context_table::eqc, 2}, {context_table::dmpt, 1}, {context_table::mtt, 1},
        {context_table::mcg, 1}};
    return shapes[static_cast<unsigned>(g)];
  }
  static constexpr context_group group_of(context_table t) {
    using enum context_group;
    constexpr context_group groups[context_tables_count] = {qp, qp, qp, qp, qp,  srq, srq,
                                                            cq, cq, eq, eq, mpt, mtt, mcg};
    return groups[static_cast<unsigned>(t)];
  }
  static constexpr unsigned log_objects_for(const budget& b, context_group g) {
    constexpr unsigned budget::*logs[context_groups] = {
        &budget::log_qps,  &budget::log_srqs, &budget::log_cqs, &budget::log_eqs,
        &budget::log_mpts, &budget::log_mtts, &budget::log_mcgs};
    return b.*logs[static_cast<unsigned>(g)];
  }
  /// Returns the maximum number of blocks of a context table, for the size of their records. The
  /// user provides the storage of the records before the device reports its entry sizes. The number
  /// is therefore that of the known cards' entries, with blocks of one page. If the entries of a
  /// card are larger, each block has several pages.
  static constexpr std::size_t most_blocks(const budget& b, context_table t) {
    const unsigned objects = log_objects_for(b, group_of(t)), block = smallest_log_block(b, t);
    return objects <= block ? 1 : std::size_t{1} << (objects - block);
  }
  std::uint32_t blocks(context_table t) const {
    const unsigned objects = log_objects[static_cast<unsigned>(group_of(t))];
    const unsigned block = table(t).log_block;
    return objects <= block ? 1 : std::uint32_t{1} << (objects - block);
  }
  /// Returns the number of pages of one block of the table. It is 1 unless the entries are larger
  /// than those of the known cards.
  std::uint32_t block_pages(context_table t) const {
    const unsigned objects = log_objects[static_cast<unsigned>(group_of(t))];
    const unsigned block = table(t).log_block;
    const unsigned log = table(t).log_entry_bytes + (objects < block ? objects : block);
    return log <= log_page ? 1 : std::uint32_t{1} << (log - log_page);
  }

  /// Places the tables in context memory. Each table is aligned to its size, and the largest comes
  /// first. Errors: driver_error::bad_argument with a budget::item in `where` (the firmware
  /// reserves the whole table, or the table is larger than the device allows).
  /// budget::item::lent_pages means that the sum of all tables is too large for the device.
  /// transport_error::bad_reply means that an entry size is not a power of two, or is out of range.
  status plan(const budget& b, const capabilities& c);

 private:
  static constexpr unsigned log_page = 12;
  static constexpr unsigned smallest_log_block(const budget& b, context_table t) {
    // log2 of the largest known entry size of each table (docs/hardware-model-core.md).
    constexpr unsigned log_entries[context_tables_count] = {8, 8, 6, 5, 6, 7, 6,
                                                            7, 6, 7, 6, 7, 3, 8};
    const unsigned log = log_entries[static_cast<unsigned>(t)] +
                         (t == context_table::rdmarc ? b.log_rdmarc_per_qp : 0);
    return log >= log_page ? 0 : log_page - log;
  }
};

}  // namespace freehca

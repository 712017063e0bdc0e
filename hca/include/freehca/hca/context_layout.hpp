// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/capabilities.hpp>

namespace freehca {

/// The tables of context memory. Those of one group have an entry each for every object of the group.
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
constexpr const char* name_of(context_table t) {
  constexpr const char* names[] = {"qpc",     "auxc",     "altc", "rdmarc",  "cmpt_qp",
                                   "srqc",    "cmpt_srq", "cqc",  "cmpt_cq", "eqc",
                                   "cmpt_eq", "dmpt",     "mtt",  "mcg"};
  return names[static_cast<unsigned>(t)];
}

enum class context_group : std::uint8_t { qp, srq, cq, eq, mpt, mtt, mcg };
inline constexpr unsigned context_groups = 7;

/// Where the tables lie in context memory and how the objects of a group are divided into chunks.
struct context_layout {
  struct place {
    std::uint64_t base = 0;        ///< address in context memory
    unsigned log_entry_bytes = 0;  ///< of all that one object has in the table
  };
  struct group_shape {
    context_table first;  ///< its tables are first, first + 1, ...
    unsigned tables;
    unsigned log_chunk;  ///< objects of one chunk
  };

  place tables[context_tables_count];
  std::uint64_t cmpt_base = 0;
  std::uint64_t bytes = 0;  ///< of context memory in all: for SET_ICM_SIZE
  unsigned log_objects[context_groups] = {};
  unsigned log_mcg_entry_bytes = 0;
  unsigned log_mcg_hash = 0;

  const place& table(context_table t) const { return tables[static_cast<unsigned>(t)]; }

  /// The shape is the same for every device: entry sizes differ, the numbers of objects in a chunk do not.
  static constexpr group_shape shape(context_group g) {
    // A chunk of the smallest entry, 64 bytes, fills pages; no chunk has more pages than MAP_ICM has entries.
    constexpr group_shape shapes[context_groups] = {
        {context_table::qpc, 5, 7}, {context_table::srqc, 2, 7}, {context_table::cqc, 2, 7},
        {context_table::eqc, 2, 6}, {context_table::dmpt, 1, 9}, {context_table::mtt, 1, 13},
        {context_table::mcg, 1, 6}};
    return shapes[static_cast<unsigned>(g)];
  }
  static constexpr unsigned log_objects_for(const budget& b, context_group g) {
    switch (g) {
      case context_group::qp:
        return b.log_qps;
      case context_group::srq:
        return b.log_srqs;
      case context_group::cq:
        return b.log_cqs;
      case context_group::eq:
        return b.log_eqs;
      case context_group::mpt:
        return b.log_mpts;
      case context_group::mtt:
        return b.log_mtts;
      case context_group::mcg:
        return b.log_mcgs;
    }
    return 0;
  }
  static constexpr std::size_t chunks_for(const budget& b, context_group g) {
    const unsigned objects = log_objects_for(b, g), chunk = shape(g).log_chunk;
    return objects <= chunk ? 1 : std::size_t{1} << (objects - chunk);
  }

  /// Places the tables, each aligned to its size, largest first. driver_error::bad_argument with `where` a
  /// budget::item (a table that the firmware alone fills, or larger than the device allows),
  /// transport_error::bad_reply (entry sizes that are no powers of two).
  status plan(const budget& b, const capabilities& c);
};

}  // namespace freehca

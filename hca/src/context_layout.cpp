// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/context_layout.hpp>

#include <freehca/hal/fields.hpp>
#include <freehca/hal/power_of_two.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/cmpt.hpp>
#include <freehca/layouts/map.hpp>

#include <freehca/hca/numbers.hpp>

namespace freehca {

namespace {

/// log_of() returns log2 of an entry size, or no_log if the size is less than 8 or not a power of
/// two. The sum of no_log and another logarithm is too large as well.
constexpr unsigned no_log = 1u << 16;
[[gnu::noinline]] unsigned log_of(std::uint64_t entry_bytes) {
  return entry_bytes >= 8 && is_power_of_two(entry_bytes) ? layouts::lowest_bit(entry_bytes)
                                                          : no_log;
}

}  // namespace

status context_layout::plan(const budget& b, const capabilities& c) {
  using l = layouts::query_dev_cap;
  const layouts::image<l>& r = c.raw;
  const auto refuse = [](budget::item i) {
    return status(driver_error::bad_argument, static_cast<unsigned>(i));
  };
  const struct {
    budget::item what;
    unsigned log;
    std::uint64_t log_most;
    std::uint32_t reserved;
  } limits[] = {
      {budget::item::qps, b.log_qps, r.get<&l::log_max_qps>(), c.reserved_qps},
      {budget::item::srqs, b.log_srqs, r.get<&l::log_max_srqs>(), c.reserved_srqs},
      {budget::item::cqs, b.log_cqs, r.get<&l::log_max_cqs>(), c.reserved_cqs},
      {budget::item::eqs, b.log_eqs, r.get<&l::log_max_eqs>(),
       c.reserved_eqs + b.completion_event_queues},
      {budget::item::mpts, b.log_mpts, r.get<&l::log_max_mpts>(), c.reserved_mpts},
      {budget::item::mtts, b.log_mtts, 31,
       number_spaces::event_ring_mtt(c.reserved_mtts, b.completion_event_queues)},
      {budget::item::multicast_groups, b.log_mcgs, r.get<&l::log_max_mcgs>(),
       static_cast<std::uint32_t>(r.get<&l::num_rsvd_mcgs>())},
      {budget::item::reads_per_qp, b.log_rdmarc_per_qp, r.get<&l::log_max_ra_res_qp>(), 0},
  };
  for (const auto& most : limits)
    if (most.log > most.log_most || most.reserved >= std::uint64_t{1} << most.log)
      return refuse(most.what);

#define FREEHCA_ENTRY(table, field) \
  FREEHCA_FIELD(context_layout,     \
                tables[static_cast<unsigned>(context_table::table)].log_entry_bytes, &l::field)
  static constexpr auto entry_bytes =
      fields_of<l>(FREEHCA_ENTRY(qpc, qpc_entry_sz), FREEHCA_ENTRY(auxc, aux_entry_sz),
                   FREEHCA_ENTRY(altc, altc_entry_sz), FREEHCA_ENTRY(rdmarc, rdmarc_entry_sz),
                   FREEHCA_ENTRY(srqc, srq_entry_sz), FREEHCA_ENTRY(cqc, cqc_entry_sz),
                   FREEHCA_ENTRY(eqc, eqc_entry_sz), FREEHCA_ENTRY(dmpt, d_mpt_entry_sz),
                   FREEHCA_ENTRY(mtt, mtt_entry_sz), FREEHCA_ENTRY(cmpt_qp, c_mpt_entry_sz),
                   FREEHCA_ENTRY(cmpt_srq, c_mpt_entry_sz), FREEHCA_ENTRY(cmpt_cq, c_mpt_entry_sz),
                   FREEHCA_ENTRY(cmpt_eq, c_mpt_entry_sz));
#undef FREEHCA_ENTRY
  load(entry_bytes, r, *this);
  for (place& p : tables) p.log_entry_bytes = log_of(p.log_entry_bytes);
  tables[static_cast<unsigned>(context_table::mcg)].log_entry_bytes = b.log_mcg_entry_bytes;
  tables[static_cast<unsigned>(context_table::rdmarc)].log_entry_bytes += b.log_rdmarc_per_qp;
  const unsigned cmpt = table(context_table::cmpt_qp).log_entry_bytes;
  static constexpr context_table cmpts[layouts::cmpt_types] = {
      context_table::cmpt_qp, context_table::cmpt_srq, context_table::cmpt_cq,
      context_table::cmpt_eq};
  constexpr unsigned all_cmpt_tables = [] {
    unsigned found = 0;
    for (const context_table t : cmpts) found |= 1u << static_cast<unsigned>(t);
    return found;
  }();

  for (unsigned g = 0; g < context_groups; ++g)
    log_objects[g] = log_objects_for(b, static_cast<context_group>(g));
  log_mcg_hash = b.log_mcgs - 1;

  for (unsigned t = 0; t < context_tables_count; ++t) {
    place& p = tables[t];
    if (p.log_entry_bytes > 16) return transport_error::bad_reply;
    const unsigned page = p.log_entry_bytes >= log_page ? 0 : log_page - p.log_entry_bytes;
    const unsigned smallest = smallest_log_block(b, static_cast<context_table>(t));
    p.log_block = page > smallest ? page : smallest;
    // A block is contiguous memory. The limit keeps it to 1 MiB.
    if (block_pages(static_cast<context_table>(t)) > layouts::map_entries_per_mailbox)
      return transport_error::bad_reply;
  }

  // Each table is aligned to its size (Linux 6.1 profile.c). The tables are placed by size, the
  // largest first, so that there are no gaps. The four cMPT tables are one table with a fixed
  // number of entries.
  bytes = 0;
  const std::uint64_t all_cmpts = layouts::cmpt_bytes(std::size_t{1} << cmpt);
  for (std::uint64_t size = std::uint64_t{1} << 63; size >= layouts::icm_page_size; size >>= 1) {
    if (size == all_cmpts) {
      cmpt_base = bytes;
      bytes += size;
    }
    for (unsigned t = 0; t < context_tables_count; ++t) {
      const auto table = static_cast<context_table>(t);
      if ((all_cmpt_tables >> t & 1) != 0) continue;
      const unsigned log =
          tables[t].log_entry_bytes + log_objects[static_cast<unsigned>(group_of(table))];
      if (size != std::uint64_t{1} << (log < log_page ? log_page : log)) continue;
      tables[t].base = bytes;
      bytes += size;
    }
  }
  for (unsigned i = 0; i < layouts::cmpt_types; ++i)
    tables[static_cast<unsigned>(cmpts[i])].base =
        cmpt_base +
        layouts::cmpt_offset(static_cast<layouts::cmpt_type>(i), 0, std::size_t{1} << cmpt);
  return bytes <= r.get<&l::max_icm_sz>() ? status() : refuse(budget::item::lent_pages);
}

}  // namespace freehca

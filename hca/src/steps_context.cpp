// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Context memory and INIT_HCA. Order and arithmetic: Linux 6.1 main.c mlx4_init_icm, profile.c,
// fw.c mlx4_INIT_HCA.
#include <bit>

#include <freehca/firmware_cmds/hca.hpp>
#include <freehca/firmware_cmds/icm.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/hal/fields.hpp>
#include <freehca/layouts/bit_operations.hpp>

#include <freehca/hca/device_watch.hpp>

#include "steps.hpp"

namespace freehca {

status device::steps::plan_context(device& d) {
  return d.control_.open_contexts(d.capabilities_);
}

status device::steps::forget_plan(device& d) {
  if (d.control_.contexts.is_open()) d.control_.contexts.close();
  return {};
}

status device::steps::set_icm_size(device& d) {
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::set_icm_size>().set_input(d.control_.layout.bytes);
    return d.sequence_.send(1);
  }
  const std::uint64_t pages = d.sequence_.last().output_immediate();
  if (const std::size_t left = d.control_.areas.bytes / dma_arena::page - d.firmware_pages_;
      pages > left)
    return exceeds(d, budget::item::auxiliary_area, pages, left);
  d.auxiliary_pages_ = static_cast<std::uint32_t>(pages);
  return {};
}

/// Returns the number of objects of a group that have context memory from the start: those of the
/// firmware and those of the driver itself. The multicast table gets more memory as groups are
/// created. With device-managed steering the firmware needs the whole table, and otherwise not
/// (Linux 6.1 main.c mlx4_init_icm says so, and maps it whole for simplicity).
std::uint32_t device::steps::reserved_objects(const device& d, context_group g) {
  const freehca::capabilities& k = d.capabilities_;
  const std::uint32_t event_queues = 1 + d.setup_.budget.completion_event_queues;
  const auto firmware =
      static_cast<std::uint32_t>(k.raw.get<&layouts::query_dev_cap::num_rsvd_mcgs>());
  const std::uint32_t lent = d.setup_.budget.lent_mcgs;
  const std::uint32_t reserved[context_groups] = {
      k.reserved_qps,
      k.reserved_srqs,
      k.reserved_cqs,
      k.reserved_eqs + event_queues,
      k.reserved_mpts,
      number_spaces::event_ring_mtt(k.reserved_mtts, event_queues),
      lent > firmware ? lent : firmware};
  return reserved[static_cast<unsigned>(g)];
}

status device::steps::map_reserved(device& d) {
  if (d.sequence_.phase == 0) {
    for (unsigned g = 0; g < context_groups; ++g) {
      const auto group = static_cast<context_group>(g);
      const std::uint32_t objects = reserved_objects(d, group);
      d.requests_[g].restart();
      if (objects != 0) d.control_.contexts.map(d.requests_[g], {group, 0, objects});
    }
    d.sequence_.phase = 1;
  }
  status worst;
  for (unsigned g = 0; g < context_groups; ++g) {
    if (reserved_objects(d, static_cast<context_group>(g)) == 0) continue;
    if (!d.requests_[g].done()) return d.sequence_.await(1, d.requests_[g]);
    const status s = d.requests_[g].outcome();
    d.reserved_mapped_[g] = s.ok();
    if (!s.ok() && worst.ok()) worst = s;
  }
  return worst;
}

status device::steps::unmap_reserved(device& d) {
  if (d.sequence_.phase == 0) {
    for (unsigned g = 0; g < context_groups; ++g) {
      if (!d.reserved_mapped_[g]) continue;
      const auto group = static_cast<context_group>(g);
      d.requests_[g].restart();
      d.control_.contexts.unmap(d.requests_[g], {group, 0, reserved_objects(d, group)});
    }
    d.sequence_.phase = 1;
  }
  status worst;
  for (unsigned g = 0; g < context_groups; ++g) {
    if (!d.reserved_mapped_[g]) continue;
    if (!d.requests_[g].done()) return d.sequence_.await(1, d.requests_[g]);
    if (worst.ok()) worst = d.requests_[g].outcome();
  }
  if (!worst.ok()) return worst;
  for (bool& m : d.reserved_mapped_) m = false;
  d.control_.contexts.release_spares();
  // Blocks of a failed request are being taken back too.
  if (!d.control_.contexts.idle()) return later(d, 0);
  // The device did not give pages back, or users still hold some.
  if (d.control_.contexts.blocks_lent() != 0) return driver_error::busy;
  return {};
}

/// With B0 steering of unicast and of multicast if the device has both, as Linux 6.1 main.c
/// choose_steering_mode.
status multicast_table_steering(const device& d, layouts::image<layouts::init_hca>& to) {
  using can = layouts::dev_cap_flag;
  to.set<&layouts::init_hca::uc_steering>(d.capabilities().has(can::vep_uc_steering) &&
                                          d.capabilities().has(can::vep_mc_steering));
  return {};
}

/// Writes the addresses and sizes of the tables. QUERY_HCA must return the same values.
status device::steps::tell_tables(device& d, layouts::image<layouts::init_hca>& to) {
  using l = layouts::init_hca;
#define FREEHCA_BASE(table, field) \
  FREEHCA_FIELD(context_layout, tables[static_cast<unsigned>(context_table::table)].base, &l::field)
  static constexpr auto layout_rows = fields_of<l>(
      FREEHCA_BASE(qpc, qpc_base), FREEHCA_BASE(srqc, srqc_base), FREEHCA_BASE(cqc, cqc_base),
      FREEHCA_BASE(altc, altc_base), FREEHCA_BASE(auxc, auxc_base), FREEHCA_BASE(eqc, eqc_base),
      FREEHCA_BASE(rdmarc, rdmarc_base), FREEHCA_BASE(mcg, mc_base), FREEHCA_BASE(dmpt, dmpt_base),
      FREEHCA_BASE(mtt, mtt_base), FREEHCA_FIELD(context_layout, cmpt_base, &l::cmpt_base),
      FREEHCA_FIELD(context_layout, log_mcg_hash, &l::log_mc_hash_sz));
#undef FREEHCA_BASE
#define FREEHCA_ROW(member, field) FREEHCA_FIELD(budget, member, &l::field)
  static constexpr auto budget_rows =
      fields_of<l>(FREEHCA_ROW(log_qps, log_num_qps), FREEHCA_ROW(log_srqs, log_num_srqs),
                   FREEHCA_ROW(log_cqs, log_num_cqs), FREEHCA_ROW(log_eqs, log_num_eqs),
                   FREEHCA_ROW(log_rdmarc_per_qp, log_rd_per_qp),
                   FREEHCA_ROW(log_mcg_entry_bytes, log_mc_entry_sz),
                   FREEHCA_ROW(log_mcgs, log_mc_table_sz), FREEHCA_ROW(log_mpts, log_mpt_sz));
#undef FREEHCA_ROW
  FREEHCA_TRY(store(layout_rows, d.control_.layout, to, d.refused_));
  FREEHCA_TRY(store(budget_rows, d.setup_.budget, to, d.refused_));
  to.set<&l::eqe_64b>(d.capabilities_.eqe_bytes == 64)
      .set<&l::cqe_64b>(d.capabilities_.cqe_bytes == 64);
  return d.setup_.steering(d, to);
}

status device::steps::init_hca(device& d) {
  using l = layouts::init_hca;
  auto& in = d.sequence_.make<commands::init_hca>().input;
  constexpr unsigned cache_line = 64;
  in.set<&l::version>(layouts::init_hca_version)
      .set<&l::log_cacheline_sz_minus_4>(layouts::bit_width(cache_line) - 1 - 4)
      .set<&l::cacheline_sz_valid>(true)
      .set<&l::host_is_big_endian>(std::endian::native == std::endian::big)
      .set<&l::ud_av_port_check>(true);
  // Linux 6.1 main.c mlx4_init_hca.
  if (d.capabilities_.has(layouts::dev_cap_flag::memory_window)) in.set<&l::mw_enable>(true);
  // The UAR pages have 4 KB. The device gets all that the BAR has.
  const unsigned log_uars =
      static_cast<unsigned>(d.capabilities_.raw.get<&layouts::query_dev_cap::uar_sz>()) + 8;
  in.set<&l::log_max_uars>(log_uars > 15 ? 15 : log_uars).set<&l::uar_page_sz>(0);
  if (d.watch_ != nullptr) d.watch_->prepare(*d.watch_, d.capabilities_, in);
  FREEHCA_TRY(tell_tables(d, in));
  return d.sequence_.send_with_effect(over, d.sequence_.partly);
}

status device::steps::close_hca(device& d) {
  if (!d.sequence_.device_has(bring_up_step::init_hca)) return {};
  d.sequence_.make<commands::close_hca>();
  return d.sequence_.send(over);
}

/// Checks that the device has the tables as INIT_HCA described them. A device with other addresses
/// would write to wrong places.
status device::steps::query_hca(device& d) {
  const auto* const c = ask<commands::query_hca>(d);
  if (c == nullptr) return {};
  auto expected = c->output;
  FREEHCA_TRY(tell_tables(d, expected));
  return expected == c->output ? status() : transport_error::bad_reply;
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Context memory and INIT_HCA. Order and arithmetic: Linux 6.1 main.c mlx4_init_icm, profile.c,
// fw.c mlx4_INIT_HCA.
#include <bit>

#include <freehca/firmware_cmds/hca.hpp>
#include <freehca/firmware_cmds/icm.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/layouts/bit_operations.hpp>

#include "steps.hpp"

namespace freehca {

auto device::steps::plan_context(device& d) -> outcome {
  return fail(d.control_.open_contexts(d.capabilities_));
}

auto device::steps::forget_plan(device& d) -> outcome {
  if (d.control_.contexts.is_open()) d.control_.contexts.close();
  return done;
}

auto device::steps::set_icm_size(device& d) -> outcome {
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::set_icm_size>().set_input(d.control_.layout.bytes);
    return send(d, 1);
  }
  if (const status s = d.sequence_.last().outcome(); !s.ok()) return fail(s);
  const std::uint64_t pages = d.sequence_.last().output_immediate();
  if (const std::uint32_t left = d.control_.lender.capacity() - d.control_.lender.pages_out();
      pages > left)
    return exceeds(d, budget::item::auxiliary_area, pages, left);
  d.auxiliary_pages_ = static_cast<std::uint32_t>(pages);
  return done;
}

/// How many objects of a group have their context memory from the start: those of the firmware and
/// those of the driver itself. The multicast table gets the rest of its memory with its groups:
/// without device-managed steering nothing wants it whole (Linux 6.1 main.c mlx4_init_icm says so,
/// and maps it whole for simplicity).
std::uint32_t device::steps::reserved_objects(const device& d, context_group g) {
  const freehca::capabilities& k = d.capabilities_;
  switch (g) {
    case context_group::qp:
      return k.reserved_qps;
    case context_group::srq:
      return k.reserved_srqs;
    case context_group::cq:
      return k.reserved_cqs;
    case context_group::eq:
      return k.reserved_eqs + 1 + d.setup_.budget.completion_event_queues;
    case context_group::mpt:
      return k.reserved_mpts;
    case context_group::mtt:
      return k.reserved_mtts;
    case context_group::mcg:
      return static_cast<std::uint32_t>(k.raw.get<&layouts::query_dev_cap::num_rsvd_mcgs>());
  }
  return 0;
}

auto device::steps::map_reserved(device& d) -> outcome {
  if (d.sequence_.phase == 0) {
    for (unsigned g = 0; g < context_groups; ++g) {
      const auto group = static_cast<context_group>(g);
      const std::uint32_t objects = reserved_objects(d, group);
      d.requests_[g].restart();
      if (objects != 0) d.control_.contexts.map(d.requests_[g], group, 0, objects);
    }
    d.sequence_.phase = 1;
  }
  status worst;
  for (unsigned g = 0; g < context_groups; ++g) {
    if (reserved_objects(d, static_cast<context_group>(g)) == 0) continue;
    if (!d.requests_[g].done()) {
      d.sequence_.await(d.requests_[g]);
      return wait;
    }
  }
  for (unsigned g = 0; g < context_groups; ++g) {
    if (reserved_objects(d, static_cast<context_group>(g)) == 0) continue;
    const status s = d.requests_[g].outcome();
    d.reserved_mapped_[g] = s.ok();
    if (!s.ok() && worst.ok()) worst = s;
  }
  return fail(worst);
}

auto device::steps::unmap_reserved(device& d) -> outcome {
  if (d.sequence_.phase == 0) {
    for (unsigned g = 0; g < context_groups; ++g) {
      if (!d.reserved_mapped_[g]) continue;
      const auto group = static_cast<context_group>(g);
      d.requests_[g].restart();
      d.control_.contexts.unmap(d.requests_[g], group, 0, reserved_objects(d, group));
    }
    d.sequence_.phase = 1;
  }
  status worst;
  for (unsigned g = 0; g < context_groups; ++g) {
    if (!d.reserved_mapped_[g]) continue;
    if (!d.requests_[g].done()) {
      d.sequence_.await(d.requests_[g]);
      return wait;
    }
    if (worst.ok()) worst = d.requests_[g].outcome();
  }
  if (!worst.ok()) return fail(worst);
  for (bool& m : d.reserved_mapped_) m = false;
  d.control_.contexts.release_spares();
  // What a failed request had wanted is on its way back too.
  if (!d.control_.contexts.idle()) return later(d, 0);
  // Pages that the device did not give back, or that users still hold.
  if (d.control_.contexts.blocks_lent() != 0) return fail(driver_error::busy);
  return done;
}

namespace {

/// The steering of a card that can do it both ways: as Linux 6.1 main.c choose_steering_mode
/// chooses.
bool has_b0_steering(const freehca::capabilities& can) {
  return can.has(layouts::dev_cap_flag::vep_uc_steering) &&
         can.has(layouts::dev_cap_flag::vep_mc_steering);
}

}  // namespace

auto device::steps::init_hca(device& d) -> outcome {
  if (d.sequence_.phase != 0) return fail(d.sequence_.settle_effect());
  using l = layouts::init_hca;
  const context_layout& p = d.control_.layout;
  const budget& b = d.setup_.budget;
  auto& c = d.sequence_.make<commands::init_hca>();
  auto& in = c.input;
  const auto base = [&p](context_table t) { return p.table(t).base; };
  constexpr unsigned cache_line = 64;
  in.set<&l::version>(layouts::init_hca_version)
      .set<&l::log_cacheline_sz_minus_4>(layouts::bit_width(cache_line) - 1 - 4)
      .set<&l::cacheline_sz_valid>(true)
      .set<&l::host_is_big_endian>(std::endian::native == std::endian::big)
      .set<&l::ud_av_port_check>(true)
      .set<&l::qpc_base>(base(context_table::qpc))
      .set<&l::log_num_qps>(b.log_qps)
      .set<&l::srqc_base>(base(context_table::srqc))
      .set<&l::log_num_srqs>(b.log_srqs)
      .set<&l::cqc_base>(base(context_table::cqc))
      .set<&l::log_num_cqs>(b.log_cqs)
      .set<&l::altc_base>(base(context_table::altc))
      .set<&l::auxc_base>(base(context_table::auxc))
      .set<&l::eqc_base>(base(context_table::eqc))
      .set<&l::log_num_eqs>(b.log_eqs)
      .set<&l::rdmarc_base>(base(context_table::rdmarc))
      .set<&l::log_rd_per_qp>(b.log_rdmarc_per_qp)
      .set<&l::mc_base>(base(context_table::mcg))
      .set<&l::log_mc_entry_sz>(b.log_mcg_entry_bytes)
      .set<&l::log_mc_hash_sz>(p.log_mcg_hash)
      .set<&l::log_mc_table_sz>(b.log_mcgs)
      .set<&l::uc_steering>(has_b0_steering(d.capabilities_))
      .set<&l::dmpt_base>(base(context_table::dmpt))
      .set<&l::log_mpt_sz>(b.log_mpts)
      .set<&l::mtt_base>(base(context_table::mtt))
      .set<&l::cmpt_base>(p.cmpt_base);
  // UAR pages of 4 KB, all that the BAR has.
  const unsigned log_uars =
      static_cast<unsigned>(d.capabilities_.raw.get<&layouts::query_dev_cap::uar_sz>()) + 8;
  in.set<&l::log_max_uars>(log_uars > 15 ? 15 : log_uars).set<&l::uar_page_sz>(0);
  if (d.capabilities_.eqe_bytes == 64) in.set<&l::eqe_64b>(true).set<&l::cqe_64b>(true);
  return send_with_effect(d, 1, d.sequence_.partly);
}

auto device::steps::close_hca(device& d) -> outcome {
  if (!d.sequence_.device_has(bring_up_step::init_hca)) return done;
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::close_hca>();
    return send(d, 1);
  }
  return fail(d.sequence_.last().outcome());
}

/// The device must have taken what it was told: a table elsewhere would be written elsewhere.
auto device::steps::query_hca(device& d) -> outcome {
  if (d.sequence_.phase == 0) {
    d.sequence_.make<commands::query_hca>();
    return send(d, 1);
  }
  const auto& c = d.sequence_.made<commands::query_hca>();
  if (!c.outcome().ok()) return fail(c.outcome());
  using l = layouts::init_hca;
  const auto& o = c.output;
  const context_layout& p = d.control_.layout;
  const budget& b = d.setup_.budget;
  const auto base = [&p](context_table t) { return p.table(t).base; };
  const bool same =
      o.get<&l::qpc_base>() == base(context_table::qpc) && o.get<&l::log_num_qps>() == b.log_qps &&
      o.get<&l::srqc_base>() == base(context_table::srqc) &&
      o.get<&l::log_num_srqs>() == b.log_srqs &&
      o.get<&l::cqc_base>() == base(context_table::cqc) && o.get<&l::log_num_cqs>() == b.log_cqs &&
      o.get<&l::eqc_base>() == base(context_table::eqc) && o.get<&l::log_num_eqs>() == b.log_eqs &&
      o.get<&l::altc_base>() == base(context_table::altc) &&
      o.get<&l::auxc_base>() == base(context_table::auxc) &&
      o.get<&l::rdmarc_base>() == base(context_table::rdmarc) &&
      o.get<&l::log_rd_per_qp>() == b.log_rdmarc_per_qp &&
      o.get<&l::mc_base>() == base(context_table::mcg) &&
      o.get<&l::log_mc_entry_sz>() == b.log_mcg_entry_bytes &&
      o.get<&l::log_mc_hash_sz>() == p.log_mcg_hash && o.get<&l::log_mc_table_sz>() == b.log_mcgs &&
      o.get<&l::uc_steering>() == has_b0_steering(d.capabilities_) &&
      o.get<&l::dmpt_base>() == base(context_table::dmpt) &&
      o.get<&l::log_mpt_sz>() == b.log_mpts && o.get<&l::mtt_base>() == base(context_table::mtt) &&
      o.get<&l::cmpt_base>() == p.cmpt_base &&
      o.get<&l::eqe_64b>() == (d.capabilities_.eqe_bytes == 64) &&
      o.get<&l::cqe_64b>() == (d.capabilities_.cqe_bytes == 64);
  return same ? done : fail(transport_error::bad_reply);
}

}  // namespace freehca

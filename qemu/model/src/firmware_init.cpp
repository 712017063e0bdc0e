// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// INIT_HCA, QUERY_HCA, CLOSE_HCA: the context tables come and go.
#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "completion_queues.hpp"
#include "event_queues.hpp"
#include "firmware.hpp"
#include "icm.hpp"
#include "memory_regions.hpp"
#include "ports.hpp"
#include "transport.hpp"

namespace freehca::model {

using layouts::command_status;

/// Checks what INIT_HCA asks for against what QUERY_DEV_CAP reports, and takes it over.
command_status firmware::take_profile(const layouts::image<layouts::init_hca>& in) {
  using l = layouts::init_hca;
  if (in.get<&l::version>() != layouts::init_hca_version) return command_status::bad_parameter;
  if (!in.reserved_clear()) return command_status::bad_parameter;
  const bool large = offers(a_.how, capability::large_entries);
  const bool managed = in.get<&l::dmfs>();
  // Capabilities that are not reported. The mode of high rates is one.
  if ((managed &&
       (!offers(a_.how, capability::device_managed_steering) || in.get<&l::uc_steering>() ||
        in.get<&l::dmfs_a0>() != layouts::dmfs_a0_mode::standard)) ||
      (in.get<&l::uc_steering>() && !offers(a_.how, capability::b0_steering)) ||
      in.get<&l::eqe_stride>() != 0 || in.get<&l::cqe_stride>() != 0 ||
      in.get<&l::num_sys_eqs>() != 0 || in.get<&l::ib_router>() ||
      (in.get<&l::mw_enable>() && !offers(a_.how, capability::memory_windows)) ||
      in.get<&l::counters>() || (!large && (in.get<&l::eqe_64b>() || in.get<&l::cqe_64b>())))
    return command_status::bad_parameter;

  hca_profile p;
  p.qpc_base = in.get<&l::qpc_base>();
  p.rdmarc_base = in.get<&l::rdmarc_base>();
  p.altc_base = in.get<&l::altc_base>();
  p.auxc_base = in.get<&l::auxc_base>();
  p.srqc_base = in.get<&l::srqc_base>();
  p.cqc_base = in.get<&l::cqc_base>();
  p.eqc_base = in.get<&l::eqc_base>();
  p.cmpt_base = in.get<&l::cmpt_base>();
  p.dmpt_base = in.get<&l::dmpt_base>();
  p.mtt_base = in.get<&l::mtt_base>();
  p.mc_base = in.get<&l::mc_base>();
  p.log_qps = static_cast<unsigned>(in.get<&l::log_num_qps>());
  p.log_rd_per_qp = static_cast<unsigned>(in.get<&l::log_rd_per_qp>());
  p.log_srqs = static_cast<unsigned>(in.get<&l::log_num_srqs>());
  p.log_cqs = static_cast<unsigned>(in.get<&l::log_num_cqs>());
  p.log_eqs = static_cast<unsigned>(in.get<&l::log_num_eqs>());
  p.log_mpts = static_cast<unsigned>(in.get<&l::log_mpt_sz>());
  p.log_mc_entry_bytes = static_cast<unsigned>(in.get<&l::log_mc_entry_sz>());
  p.log_mc_hash = static_cast<unsigned>(in.get<&l::log_mc_hash_sz>());
  p.log_mc_table = static_cast<unsigned>(in.get<&l::log_mc_table_sz>());
  if (managed) {
    p.device_managed_steering = true;
    p.mc_base = in.get<&l::dmfs_base>();
    p.log_mc_entry_bytes = static_cast<unsigned>(in.get<&l::dmfs_log_entry_sz>());
    p.log_mc_hash = 0;
    p.log_mc_table = static_cast<unsigned>(in.get<&l::dmfs_log_table_sz>());
  }
  p.log_uar_page_bytes = 12 + static_cast<unsigned>(in.get<&l::uar_page_sz>());
  p.big_endian_host = in.get<&l::host_is_big_endian>();
  p.memory_windows = in.get<&l::mw_enable>();
  p.cqe_bytes = in.get<&l::cqe_64b>() ? 64 : 32;
  p.eqe_bytes = in.get<&l::eqe_64b>() ? 64 : 32;

  const adapter_limits& most = a_.limits();
  constexpr unsigned log_most_group_bytes = 12;     // MLX4_MAX_MGM_LOG_ENTRY_SIZE, Linux mlx4.h
  constexpr unsigned log_most_uar_page_bytes = 16;  // no source: chosen
  if (p.log_qps > most.log_qps || p.log_srqs > most.log_srqs || p.log_cqs > most.log_cqs ||
      p.log_eqs > most.log_eqs || p.log_mpts > most.log_mpts ||
      p.log_rd_per_qp > most.log_read_resources || p.log_mc_table > most.log_groups ||
      p.log_mc_entry_bytes > log_most_group_bytes || p.log_uar_page_bytes > log_most_uar_page_bytes)
    return command_status::exceeds_limits;
  // Firmware's own entries must fit.
  constexpr unsigned log_rule_bytes_least = 7;  // MLX4_FS_MGM_LOG_ENTRY_SIZE, Linux mlx4.h
  if ((managed && p.log_mc_entry_bytes < log_rule_bytes_least) ||
      p.log_qps < most.log_reserved_qps || p.log_srqs < most.log_reserved_srqs ||
      p.log_cqs < most.log_reserved_cqs || p.log_eqs < most.log_reserved_eqs ||
      p.log_mpts < most.log_reserved_mpts || p.log_mc_hash > p.log_mc_table)
    return command_status::bad_parameter;
  // "Each table is aligned to its size" (init_hca.hpp): an entry never crosses a page.
  for (const std::uint64_t base :
       {p.qpc_base, p.rdmarc_base, p.altc_base, p.auxc_base, p.srqc_base, p.cqc_base, p.eqc_base,
        p.cmpt_base, p.dmpt_base, p.mtt_base, p.mc_base})
    if (base % 4096 != 0 || base >= most.icm_bytes) return command_status::bad_parameter;

  p.running = true;
  a_.profile = p;
  return command_status::ok;
}

/// What INIT_HCA was told can be read as counters; zero while the adapter is not initialised.
void firmware::count_profile() {
  const auto show = [this](const char* name, unsigned hca_profile::*what) {
    a_.counters.add(name, [this, what] { return a_.profile.running ? a_.profile.*what : 0u; });
  };
  show("init_log_qps", &hca_profile::log_qps);
  show("init_log_rdmarc_per_qp", &hca_profile::log_rd_per_qp);
  show("init_log_srqs", &hca_profile::log_srqs);
  show("init_log_cqs", &hca_profile::log_cqs);
  show("init_log_eqs", &hca_profile::log_eqs);
  show("init_log_mpts", &hca_profile::log_mpts);
  show("init_log_mcg_entry", &hca_profile::log_mc_entry_bytes);
  show("init_log_mcg_hash", &hca_profile::log_mc_hash);
  show("init_log_mcgs", &hca_profile::log_mc_table);
  a_.counters.add("init_device_managed_steering",
                  [this] { return a_.profile.device_managed_steering ? 1u : 0u; });
  a_.counters.add("init_b0_steering", [this] {
    return a_.profile.running && initial_.get<&layouts::init_hca::uc_steering>() ? 1u : 0u;
  });
}

/// Firmware keeps its reserved objects in the first entries of each table, so those must be lent by now.
bool firmware::reserved_entries_mapped() const {
  using layouts::cmpt_type;
  const hca_profile& p = a_.profile;
  const icm& m = *a_.context_memory;
  const adapter_limits& own = a_.limits();
  const std::size_t qps = own.reserved_qps();
  return m.mapped(p.qpc_base, qps * entry_bytes::qpc) &&
         m.mapped(p.rdmarc_base, (qps << p.log_rd_per_qp) * entry_bytes::rdmarc) &&
         m.mapped(p.altc_base, qps * entry_bytes::altc) &&
         m.mapped(p.auxc_base, qps * entry_bytes::auxc) &&
         m.mapped(p.srqc_base, own.reserved_srqs() * entry_bytes::srqc) &&
         m.mapped(p.cqc_base, own.reserved_cqs() * entry_bytes::cqc) &&
         m.mapped(p.eqc_base, own.reserved_eqs() * entry_bytes::eqc) &&
         m.mapped(p.dmpt_base, own.reserved_mpts() * entry_bytes::dmpt) &&
         m.mapped(p.mtt_base, own.reserved_mtts() * entry_bytes::mtt) &&
         // Rules can come to stand anywhere in their table. No source: chosen (Linux lends it whole in either mode).
         (!p.device_managed_steering ||
          m.mapped(p.mc_base, std::size_t{1} << (p.log_mc_table + p.log_mc_entry_bytes))) &&
         m.control_entry_mapped(cmpt_type::qp, 0) && m.control_entry_mapped(cmpt_type::srq, 0) &&
         m.control_entry_mapped(cmpt_type::cq, 0) && m.control_entry_mapped(cmpt_type::eq, 0);
}

command_status firmware::init_hca(command& c) {
  if (state_ != system_state::firmware_running || initialising_)
    return command_status::bad_system_state;
  layouts::image<layouts::init_hca> in;
  if (!c.read_input(in)) return command_status::internal_error;
  if (const command_status s = take_profile(in); s != command_status::ok) return s;
  if (!reserved_entries_mapped()) {
    a_.profile = {};
    return command_status::icm_error;
  }
  initialising_ = true;
  const hca_profile& p = a_.profile;
  const std::uint64_t end =
      p.mc_base + (std::uint64_t{1} << (p.log_mc_table + p.log_mc_entry_bytes));
  return c.in_slices([this, in, at = p.mc_base, end]() mutable {
    const std::optional<command_status> s = empty_groups(at, end);
    if (!s) return s;
    initialising_ = false;
    if (*s == command_status::ok) {
      initial_ = in;
      state_ = system_state::hca_running;
    } else {
      a_.profile = {};
    }
    return s;
  });
}

command_status firmware::query_hca(command& c) {
  layouts::image<layouts::init_hca> out = initial_;
  out.set<&layouts::init_hca::hca_core_clock>(clock_mhz());
  return c.write_output(out) ? command_status::ok : command_status::internal_error;
}

command_status firmware::close_hca(command&) {
  if (state_ != system_state::hca_running) return command_status::bad_system_state;
  a_.queue_pairs->clear();
  a_.cqs->clear();
  a_.eqs->clear();
  a_.regions->clear();
  a_.links->clear();
  a_.profile = {};
  initial_ = {};
  state_ = system_state::firmware_running;
  return command_status::ok;
}

}  // namespace freehca::model

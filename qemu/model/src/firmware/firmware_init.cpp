// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// INIT_HCA, QUERY_HCA, CLOSE_HCA: the context tables come and go.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include <freehca/layouts/map.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "command/command_checks.hpp"
#include "firmware/firmware.hpp"
#include "ports/ports.hpp"
#include "queues/completion_queues.hpp"
#include "queues/event_queues.hpp"
#include "queues/uar_users.hpp"
#include "tables/icm.hpp"
#include "tables/memory_regions.hpp"
#include "transport/transport.hpp"

namespace freehca::model {

using layouts::command_status;

namespace {

/// What INIT_HCA asks for beyond the capabilities that are reported; what is taken all the same has
/// no effect.
void check_capabilities(command_checks& is, const options& how,
                        const layouts::image<layouts::init_hca>& in) {
  using l = layouts::init_hca;
  const auto reported = [&is](bool good, const char* field) {
    is.that(good, rule::capability_reported, command_status::bad_parameter,
            "%s, which is not reported", field);
  };
  const bool large = offers(how, capability::large_entries);
  const bool managed = in.get<&l::dmfs>();
  reported(in.get<&l::version>() == layouts::init_hca_version, "version of another interface");
  is.no_reserved_bits(in);
  reported(!managed || offers(how, capability::device_managed_steering), "dmfs");
  reported(!managed || !in.get<&l::uc_steering>(), "dmfs beside uc_steering");
  reported(!managed || in.get<&l::dmfs_a0>() == layouts::dmfs_a0_mode::standard, "dmfs_a0");
  reported(!in.get<&l::uc_steering>() || offers(how, capability::b0_steering), "uc_steering");
  reported(in.get<&l::eqe_stride>() == 0, "eqe_stride");
  reported(in.get<&l::cqe_stride>() == 0, "cqe_stride");
  reported(in.get<&l::num_sys_eqs>() == 0, "num_sys_eqs");
  reported(!in.get<&l::ib_router>(), "ib_router");
  reported(!in.get<&l::mw_enable>() || offers(how, capability::memory_windows), "mw_enable");
  reported(!in.get<&l::checksum_enable>() || offers(how, capability::ipoib_checksum),
           "checksum_enable");
  reported(!in.get<&l::recoverable_error_event>() || offers(how, capability::recoverable_errors),
           "recoverable_error_event");
  reported(!in.get<&l::counters>() || offers(how, capability::interface_counters), "counters");
  reported(!in.get<&l::rss_ip_fragments>() || offers(how, capability::receive_side_scaling),
           "rss_ip_fragments");
  reported(large || !in.get<&l::eqe_64b>(), "eqe_64b");
  reported(large || !in.get<&l::cqe_64b>(), "cqe_64b");
}

/// What CONFIG_DEV has set, with nothing of INIT_HCA.
hca_profile uninitialised(const hca_profile& now) {
  hca_profile p;
  p.vxlan_port = now.vxlan_port;
  p.roce_v2_port = now.roce_v2_port;
  p.any_receive_port = now.any_receive_port;
  return p;
}

/// A number of INIT_HCA between what firmware needs for itself and what QUERY_DEV_CAP reports.
struct bounded {
  const char* field;
  unsigned* value;
  unsigned least, most;
};

/// What is taken though it is out of its bounds is taken as the bound.
void check_bounds(command_checks& is, std::initializer_list<bounded> all) {
  for (const bounded& b : all) {
    is.at_most(rule::profile_limits, b.field, *b.value, b.most, command_status::exceeds_limits)
        .that(*b.value >= b.least, rule::profile_reserves, command_status::bad_parameter,
              "%s %u; at least %u", b.field, *b.value, b.least);
    *b.value = std::clamp(*b.value, b.least, b.most);
  }
}

}  // namespace

/// Checks what INIT_HCA asks for against what QUERY_DEV_CAP reports, and takes it over.
void firmware::take_profile(command_checks& is, const layouts::image<layouts::init_hca>& in) {
  using l = layouts::init_hca;
  check_capabilities(is, a_.how, in);
  const bool large = offers(a_.how, capability::large_entries);
  const bool managed = in.get<&l::dmfs>() && offers(a_.how, capability::device_managed_steering);

  hca_profile p = uninitialised(a_.profile);
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
  p.unicast_entries =
      !managed && in.get<&l::uc_steering>() && offers(a_.how, capability::b0_steering);
  p.hash_ip_fragments =
      in.get<&l::rss_ip_fragments>() && offers(a_.how, capability::receive_side_scaling);
  p.log_uar_page_bytes = 12 + static_cast<unsigned>(in.get<&l::uar_page_sz>());
  p.big_endian_host = in.get<&l::host_is_big_endian>();
  p.memory_windows = in.get<&l::mw_enable>();
  p.ipoib_checksums = in.get<&l::checksum_enable>() && offers(a_.how, capability::ipoib_checksum);
  p.cqe_bytes = large && in.get<&l::cqe_64b>() ? 64 : 32;
  p.eqe_bytes = large && in.get<&l::eqe_64b>() ? 64 : 32;

  // The limits of QUERY_DEV_CAP (firmware_queries.cpp); firmware's own entries must fit.
  const adapter_limits& have = a_.limits();
  check_bounds(
      is, {{"log_num_qps", &p.log_qps, have.log_reserved_qps, have.log_qps},
           {"log_num_srqs", &p.log_srqs, have.log_reserved_srqs, have.log_srqs},
           {"log_num_cqs", &p.log_cqs, have.log_reserved_cqs, have.log_cqs},
           {"log_num_eqs", &p.log_eqs, have.log_reserved_eqs, have.log_eqs},
           {"log_mpt_sz", &p.log_mpts, have.log_reserved_mpts, have.log_mpts},
           {"log_rd_per_qp", &p.log_rd_per_qp, 0, have.log_read_resources},
           {"log_mc_table_sz", &p.log_mc_table, 0, have.log_groups},
           {"log_mc_entry_sz", &p.log_mc_entry_bytes,
            managed ? hca_profile::log_rule_bytes_least : 0, hca_profile::log_most_group_bytes},
           {"uar_page_sz: log2 of the page", &p.log_uar_page_bytes,
            hca_profile::log_least_uar_page_bytes, hca_profile::log_most_uar_page_bytes}});
  is.at_most(rule::table_place, "log_mc_hash_sz", p.log_mc_hash, p.log_mc_table);
  p.log_mc_hash = std::min(p.log_mc_hash, p.log_mc_table);
  // "Each table is aligned to its size" (init_hca.hpp): an entry never crosses a page.
  const std::pair<const char*, std::uint64_t> bases[] = {
      {"qpc_base", p.qpc_base},   {"rdmarc_base", p.rdmarc_base}, {"altc_base", p.altc_base},
      {"auxc_base", p.auxc_base}, {"srqc_base", p.srqc_base},     {"cqc_base", p.cqc_base},
      {"eqc_base", p.eqc_base},   {"cmpt_base", p.cmpt_base},     {"dmpt_base", p.dmpt_base},
      {"mtt_base", p.mtt_base},   {"mc_base", p.mc_base}};
  for (const auto& [field, base] : bases)
    is.that(base % layouts::icm_page_size == 0 && base < have.icm_bytes, rule::table_place,
            command_status::bad_parameter, "%s 0x%llx; aligned to 0x%llx, below 0x%llx", field,
            static_cast<unsigned long long>(base),
            static_cast<unsigned long long>(layouts::icm_page_size),
            static_cast<unsigned long long>(have.icm_bytes));
  if (is.refused()) return;
  p.running = true;
  a_.profile = p;
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
  a_.counters.add("init_b0_steering", [this] { return a_.profile.unicast_entries ? 1u : 0u; });
}

/// Firmware keeps its reserved objects in the first entries of each table, so those must be lent by
/// now.
void firmware::check_reserved_entries(command_checks& is) const {
  using layouts::cmpt_type;
  const hca_profile& p = a_.profile;
  const icm& m = *a_.context_memory;
  const adapter_limits& own = a_.limits();
  const auto lent = [&is, &m](const char* what, std::uint64_t base, std::size_t bytes) {
    is.lent(m.mapped(base, bytes), what, base);
  };
  lent("qpc_base: reserved entry", p.qpc_base, own.reserved_qps() * entry_bytes::qpc);
  lent("rdmarc_base: reserved entry", p.rdmarc_base,
       (std::size_t{own.reserved_qps()} << p.log_rd_per_qp) * entry_bytes::rdmarc);
  lent("altc_base: reserved entry", p.altc_base, own.reserved_qps() * entry_bytes::altc);
  lent("auxc_base: reserved entry", p.auxc_base, own.reserved_qps() * entry_bytes::auxc);
  lent("srqc_base: reserved entry", p.srqc_base, own.reserved_srqs() * entry_bytes::srqc);
  lent("cqc_base: reserved entry", p.cqc_base, own.reserved_cqs() * entry_bytes::cqc);
  lent("eqc_base: reserved entry", p.eqc_base, own.reserved_eqs() * entry_bytes::eqc);
  lent("dmpt_base: reserved entry", p.dmpt_base, own.reserved_mpts() * entry_bytes::dmpt);
  lent("mtt_base: reserved entry", p.mtt_base, own.reserved_mtts() * entry_bytes::mtt);
  // Rules can come to stand anywhere in their table, which may have a piece of memory for each
  // page: a look at its ends has a bound. No source: chosen (Linux lends it whole in either mode).
  if (p.device_managed_steering) {
    const std::uint64_t rules = std::uint64_t{1} << p.log_mc_table;
    const std::size_t bytes = std::size_t{1} << p.log_mc_entry_bytes;
    lent("dmfs_base: first entry", p.mc_base, bytes);
    lent("dmfs_base: last entry", p.mc_base + (rules - 1) * bytes, bytes);
  }
  for (const auto& [type, name] : {std::pair{cmpt_type::qp, "cmpt_base: control entry of QP"},
                                   {cmpt_type::srq, "cmpt_base: control entry of SRQ"},
                                   {cmpt_type::cq, "cmpt_base: control entry of CQ"},
                                   {cmpt_type::eq, "cmpt_base: control entry of EQ"}})
    is.lent(m.control_entry_mapped(type, 0), name, 0);
}

slice_result firmware::init_hca(command& c) {
  command_checks is(a_.rules);
  check_order(is, !running(), "INIT_HCA without CLOSE_HCA");
  layouts::image<layouts::init_hca> in;
  is.read(c, in);
  if (is.refused()) return is.status();
  if (running()) stop();
  take_profile(is, in);
  if (is.refused()) return is.status();
  check_reserved_entries(is);
  if (is.refused()) {
    a_.profile = uninitialised(a_.profile);
    return is.status();
  }
  initialising_ = true;
  c.progress.init_parameters = in;
  c.progress.position = a_.profile.mc_base;
  return continue_init_hca(c);
}

slice_result firmware::continue_init_hca(command& c) {
  // Only of a command that was loaded.
  if (!initialising_) return command_status::bad_system_state;
  // The profile stays as take_profile() made it while the command is at work.
  const hca_profile& p = a_.profile;
  const std::uint64_t end =
      p.mc_base + (std::uint64_t{1} << (p.log_mc_table + p.log_mc_entry_bytes));
  command_checks is(a_.rules);
  if (!empty_groups(is, c.progress.position, end)) return std::nullopt;
  initialising_ = false;
  if (is.refused()) {
    a_.profile = uninitialised(a_.profile);
  } else {
    initial_ = c.progress.init_parameters;
    state_ = system_state::hca_running;
  }
  return is.status();
}

command_status firmware::query_hca(command& c) {
  layouts::image<layouts::init_hca> out = initial_;
  out.set<&layouts::init_hca::hca_core_clock>(clock_mhz());
  return command_checks(a_.rules).answer(c, out).status();
}

command_status firmware::close_hca(command&) {
  command_checks is(a_.rules);
  check_order(is, state_ == system_state::hca_running, "before INIT_HCA");
  if (!is.refused() && running()) stop();
  return is.status();
}

void firmware::stop() {
  a_.queue_pairs->clear();
  a_.cqs->clear();
  a_.eqs->clear();
  a_.uars.clear(a_.work);
  a_.regions->clear();
  a_.links->clear();
  a_.profile = {};
  initial_ = {};
  initialising_ = false;
  ++era_;
  state_ = system_state::firmware_running;
}

}  // namespace freehca::model

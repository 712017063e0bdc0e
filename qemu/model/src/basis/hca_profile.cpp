// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Which profiles INIT_HCA leaves (firmware_init.cpp take_profile()): a profile that is loaded must
// be one of them, since its numbers are shifted by and are sizes of tables.
#include <algorithm>

#include "basis/hca_profile.hpp"

#include "basis/adapter_limits.hpp"

namespace freehca::model {

namespace {

/// The widest bounds of all variants.
constexpr adapter_limits any_limits{.log_reserved_mpts = limits_connectx2.log_reserved_mpts};
static_assert(any_limits.log_reserved_mpts <= limits_connectx3.log_reserved_mpts &&
              any_limits.log_reserved_mpts <= limits_connectx3_pro.log_reserved_mpts &&
              any_limits.log_groups >= limits_connectx2.log_groups);

/// Bases of context tables have no lower bits.
constexpr std::uint64_t base_alignment = 32;

const char* unfit(const hca_profile& p, const adapter_limits& have) {
  const struct {
    unsigned value, least, most;
    const char* text;
  } bounds[] = {
      {p.log_qps, have.log_reserved_qps, have.log_qps, "log_qps is out of bounds"},
      {p.log_srqs, have.log_reserved_srqs, have.log_srqs, "log_srqs is out of bounds"},
      {p.log_cqs, have.log_reserved_cqs, have.log_cqs, "log_cqs is out of bounds"},
      {p.log_eqs, have.log_reserved_eqs, have.log_eqs, "log_eqs is out of bounds"},
      {p.log_mpts, have.log_reserved_mpts, have.log_mpts, "log_mpts is out of bounds"},
      {p.log_rd_per_qp, 0, have.log_read_resources, "log_rd_per_qp is out of bounds"},
      {p.log_mc_table, 0, have.log_groups, "log_mc_table is out of bounds"},
      {p.log_mc_entry_bytes, p.device_managed_steering ? hca_profile::log_rule_bytes_least : 0,
       hca_profile::log_most_group_bytes, "log_mc_entry_bytes is out of bounds"},
      {p.log_mc_hash, 0, p.log_mc_table, "log_mc_hash is out of bounds"}};
  for (const auto& b : bounds)
    if (b.value > b.most || (p.running && b.value < b.least)) return b.text;
  // Pages of BAR2 have this size before INIT_HCA too.
  if (p.log_uar_page_bytes < hca_profile::log_least_uar_page_bytes ||
      p.log_uar_page_bytes > hca_profile::log_most_uar_page_bytes)
    return "log_uar_page_bytes is out of bounds";
  const std::uint64_t bases[] = {p.qpc_base, p.rdmarc_base, p.srqc_base, p.cqc_base, p.eqc_base};
  if (std::ranges::any_of(bases, [](std::uint64_t base) { return base % base_alignment != 0; }))
    return "a table of contexts is not aligned";
  const auto is_entry = [](unsigned bytes) { return bytes == 32 || bytes == 64; };
  if (!is_entry(p.eqe_bytes) || !is_entry(p.cqe_bytes))
    return "entries of queues have neither 32 nor 64 bytes";
  if (p.device_managed_steering && p.unicast_entries) return "it steers in two ways";
  if (std::ranges::any_of(p.physical_ports, [](unsigned port) { return port < 1 || port > 2; }))
    return "a port is mapped to one that does not exist";
  return nullptr;
}

}  // namespace

const char* hca_profile::unfit_for(const options& how) const {
  if (maps_ports() && how.ports < physical_ports.size())
    return "ports are mapped, and there is one port";
  return unfit(*this, limits_of(how.kind));
}

const char* hca_profile::broken_invariant() const {
  return unfit(*this, any_limits);
}

}  // namespace freehca::model

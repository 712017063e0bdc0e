// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/model/options.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// What INIT_HCA told the adapter: where each context table starts in ICM and how many entries it
/// has. All zero before INIT_HCA and after CLOSE_HCA.
struct hca_profile {
  static constexpr unsigned log_most_group_bytes =
      12;                                              ///< Linux mlx4.h MLX4_MAX_MGM_LOG_ENTRY_SIZE
  static constexpr unsigned log_rule_bytes_least = 7;  ///< Linux mlx4.h MLX4_FS_MGM_LOG_ENTRY_SIZE
  static constexpr unsigned log_least_uar_page_bytes = 12;
  static constexpr unsigned log_most_uar_page_bytes = 16;  ///< no source: chosen

  bool running = false;
  std::uint64_t qpc_base = 0, rdmarc_base = 0, altc_base = 0, auxc_base = 0, srqc_base = 0,
                cqc_base = 0, eqc_base = 0, cmpt_base = 0, dmpt_base = 0, mtt_base = 0, mc_base = 0;
  unsigned log_qps = 0, log_rd_per_qp = 0, log_srqs = 0, log_cqs = 0, log_eqs = 0, log_mpts = 0;
  unsigned log_mc_entry_bytes = 0, log_mc_hash = 0, log_mc_table = 0, log_uar_page_bytes = 12;
  unsigned eqe_bytes = 32, cqe_bytes = 32;
  bool big_endian_host = false;  ///< for the operands of atomics
  bool memory_windows = false;
  bool ipoib_checksums = false;  ///< in datagrams of IP over InfiniBand, sent and received
  /// How Ethernet ports steer: by rules, by entries of the multicast table for unicast too (B0), or
  /// by the tables of SET_PORT (A0, when neither is set).
  bool device_managed_steering = false, unicast_entries = false;
  bool hash_ip_fragments = false;  ///< RSS
  // What CONFIG_DEV changes.
  std::uint16_t vxlan_port = 0;  ///< 0: no frame is taken for VXLAN
  std::uint16_t roce_v2_port = layouts::roce_v2_udp_port;
  /// What comes by one port is taken for queue pairs of either.
  bool any_receive_port = false;
  /// VIRT_PORT_MAP: by which port that leaves which a queue pair sends by port 1, by port 2.
  std::array<unsigned, 2> physical_ports{1, 2};

  bool maps_ports() const { return physical_ports != std::array{1u, 2u}; }

  using saved = saving::fields<
      &hca_profile::running, &hca_profile::qpc_base, &hca_profile::rdmarc_base,
      &hca_profile::altc_base, &hca_profile::auxc_base, &hca_profile::srqc_base,
      &hca_profile::cqc_base, &hca_profile::eqc_base, &hca_profile::cmpt_base,
      &hca_profile::dmpt_base, &hca_profile::mtt_base, &hca_profile::mc_base, &hca_profile::log_qps,
      &hca_profile::log_rd_per_qp, &hca_profile::log_srqs, &hca_profile::log_cqs,
      &hca_profile::log_eqs, &hca_profile::log_mpts, &hca_profile::log_mc_entry_bytes,
      &hca_profile::log_mc_hash, &hca_profile::log_mc_table, &hca_profile::log_uar_page_bytes,
      &hca_profile::eqe_bytes, &hca_profile::cqe_bytes, &hca_profile::big_endian_host,
      &hca_profile::memory_windows, &hca_profile::ipoib_checksums,
      &hca_profile::device_managed_steering, &hca_profile::unicast_entries,
      &hca_profile::hash_ip_fragments, &hca_profile::vxlan_port, &hca_profile::roce_v2_port,
      &hca_profile::any_receive_port, &hca_profile::physical_ports>;
  /// Names a value that INIT_HCA, CONFIG_DEV and VIRT_PORT_MAP do not leave in an adapter that is
  /// made so. Null if there is none. firmware asks after a load.
  const char* unfit_for(const options& how) const;
  /// The same of any adapter.
  const char* broken_invariant() const;
};

}  // namespace freehca::model

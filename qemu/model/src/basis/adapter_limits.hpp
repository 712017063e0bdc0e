// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the adapter says that it has, and how much of it is firmware's: one table for each variant.
// QUERY_DEV_CAP and QUERY_PORT report from here, and every check of what a driver asks for looks
// here, so that the two cannot contradict each other. What the numbers must be to each other:
// adapter_limits_fit.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/model/options.hpp>

namespace freehca::model {

/// Numbers of one variant; log_* is a logarithm to base 2. A number without a source beside it is
/// given by captures (docs/hardware-model-core.md has those that were chosen).
struct adapter_limits {
  // Entries of the context tables: the most that INIT_HCA may ask for (chosen, but for the
  // multicast groups), and firmware's own at the start of each.
  unsigned log_qps = 24, log_reserved_qps = 6;
  unsigned log_srqs = 24, log_reserved_srqs = 6;
  unsigned log_cqs = 24, log_reserved_cqs = 7;
  unsigned log_eqs = 9, log_reserved_eqs = 5;  ///< chosen: see adapter_limits_fit.hpp
  unsigned log_mpts = 24, log_reserved_mpts = 8;
  unsigned log_mtts = 31, log_reserved_mtts = 6;  ///< chosen
  unsigned log_groups = 17;                       ///< multicast groups, hashed and chained together
  unsigned log_group_members = 8;                 ///< chosen; Linux's entries of 1 KiB hold 248

  // What has no table.
  unsigned log_pds = 15, reserved_pds = 4;
  unsigned log_xrc_domains = 16;                     ///< chosen
  unsigned reserved_uars = 8;                        ///< how many there are, the size of BAR2 says
  std::uint32_t reserved_lkey = 0x500;               ///< chosen: a key within the reserved MPTs
  std::uint64_t icm_bytes = std::uint64_t{1} << 40;  ///< chosen

  // Queues.
  unsigned log_cq_entries = 22;
  unsigned log_eq_entries = 22;          ///< chosen
  unsigned log_work_queue_entries = 14;  ///< SRQs too
  /// Send WQEs: 63 blocks of 16 bytes, since the control segment's ds has six bits; one is the
  /// control segment.
  unsigned send_segments = 62, send_wqe_bytes = 1008;
  unsigned receive_segments = 32, receive_wqe_bytes = 512;
  unsigned log_read_resources = 7;  ///< reads and atomics of one queue pair, asked and answered
  unsigned log_read_resources_in_all = 24;  ///< chosen
  unsigned local_ca_ack_delay = 15;
  unsigned log_message_bytes =
      30;  ///< contexts may ask for more (Linux writes 31 for raw packets), and get this
  unsigned log_large_send_bytes = 17;  ///< of a datagram; chosen: above Linux's 64 KiB of IP
  unsigned log_region_bytes = 62;      ///< chosen
  unsigned log_least_page_bytes = 9;
  unsigned log_blueflame_bytes = 9, log_blueflames_per_page = 3;  ///< chosen

  // Device-managed steering.
  unsigned rules_per_group = 244;  ///< for one group or queue pair: each gets a copy of each packet
  unsigned log_steered_qps = 10;  ///< chosen (Linux takes 256): those whose unicast rules can steer

  // Ports.
  unsigned log_vls = 3;
  unsigned mtu_code = 5;    ///< 4096 bytes; of ConnectX-2 with firmware 2.9
  unsigned width_mask = 3;  ///< 1X and 4X
  unsigned log_gids = 7, log_pkeys = 7;
  unsigned log_macs = 7, log_vlans = 7;  ///< of Ethernet; chosen
  unsigned log_rss_queues = 7;           ///< of one RSS queue pair; chosen
  unsigned counters = 128;               ///< by index; the last is the sink

  constexpr std::uint32_t reserved_qps() const { return 1u << log_reserved_qps; }
  constexpr std::uint32_t reserved_srqs() const { return 1u << log_reserved_srqs; }
  constexpr std::uint32_t reserved_cqs() const { return 1u << log_reserved_cqs; }
  constexpr std::uint32_t reserved_eqs() const { return 1u << log_reserved_eqs; }
  constexpr std::uint32_t reserved_mpts() const { return 1u << log_reserved_mpts; }
  constexpr std::uint32_t reserved_mtts() const { return 1u << log_reserved_mtts; }
  constexpr std::uint32_t vls() const { return 1u << log_vls; }
};

inline constexpr adapter_limits limits_connectx3_pro{};
inline constexpr adapter_limits limits_connectx3{};
inline constexpr adapter_limits limits_connectx2{.log_reserved_mpts = 4, .log_groups = 13};

constexpr const adapter_limits& limits_of(variant v) {
  switch (v) {
    case variant::connectx3:
      return limits_connectx3;
    case variant::connectx2:
      return limits_connectx2;
    case variant::connectx3_pro:
      break;
  }
  return limits_connectx3_pro;
}

/// Of every variant.
inline constexpr unsigned log_message_bytes = limits_connectx3_pro.log_message_bytes;
static_assert(log_message_bytes == limits_connectx3.log_message_bytes &&
              log_message_bytes == limits_connectx2.log_message_bytes);

/// Bytes of one entry of each context table, which are the same in every variant. No capture gives
/// these sizes. Each is the smallest power of two that holds the layout's fields, but for the dMPT,
/// where illumos hermon_hw.h has 0x80. Chosen.
namespace entry_bytes {
inline constexpr std::size_t qpc = 256;
inline constexpr std::size_t rdmarc = 32;
inline constexpr std::size_t altc = 64;
inline constexpr std::size_t auxc = 128;
inline constexpr std::size_t srqc = 128;
inline constexpr std::size_t cqc = 128;
inline constexpr std::size_t eqc = 128;
inline constexpr std::size_t cmpt = 64;
inline constexpr std::size_t dmpt = 128;
inline constexpr std::size_t mtt = 8;
}  // namespace entry_bytes

}  // namespace freehca::model

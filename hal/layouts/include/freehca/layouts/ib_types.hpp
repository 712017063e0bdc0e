// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Codes of the InfiniBand architecture that device tables and management attributes share.
#pragma once

#include <cstdint>

namespace freehca::layouts {

/// Path MTU. Sources: IBTA vol. 1, PathRecord and PortInfo; libibmad/iba_types.h (IB_MTU_LEN_*).
/// `raw_ethernet` is no IBTA code: what Linux writes into the context of a raw Ethernet QP
/// (hw/mlx4/qp.c, MLX4_RAW_QP_MTU), where the port's MTU counts.
enum class ib_mtu : std::uint8_t {
  mtu_256 = 1,
  mtu_512 = 2,
  mtu_1024 = 3,
  mtu_2048 = 4,
  mtu_4096 = 5,
  raw_ethernet = 7,
};

/// Bytes of payload that code stands for; 0 for a code that names no size.
constexpr unsigned mtu_bytes(ib_mtu code) {
  const unsigned c = static_cast<unsigned>(code);
  return c >= 1 && c <= 5 ? 128u << c : 0;
}

/// Rate of a path (PathRecord, MCMemberRecord, address handles). Source: include/rdma/ib_verbs.h
/// (enum ib_rate); the codes are those of IBTA vol. 1.
enum class ib_rate : std::uint8_t {
  port_current = 0,
  gbps_2_5 = 2,
  gbps_10 = 3,
  gbps_30 = 4,
  gbps_5 = 5,
  gbps_20 = 6,
  gbps_40 = 7,
  gbps_60 = 8,
  gbps_80 = 9,
  gbps_120 = 10,
  gbps_14 = 11,
  gbps_56 = 12,
  gbps_112 = 13,
  gbps_168 = 14,
  gbps_25 = 15,
  gbps_100 = 16,
};

/// Well-known numbers. Sources: include/rdma/ib_mad.h, IBTA vol. 1.
inline constexpr std::uint32_t qp0_smi = 0;
inline constexpr std::uint32_t qp1_gsi = 1;
inline constexpr std::uint32_t multicast_qpn = 0xffffff;
inline constexpr std::uint32_t gsi_qkey = 0x80010000;
/// A Q_Key in a WQE with this bit set sends the Q_Key of the QP context instead (IBTA vol. 1,
/// 10.2.5; mlx4: MT25408 PRM, QP context, q_key).
inline constexpr std::uint32_t qkey_from_context = 0x80000000;
inline constexpr std::uint16_t permissive_lid = 0xffff;
inline constexpr std::uint16_t first_multicast_lid = 0xc000;
inline constexpr std::uint16_t default_pkey_full = 0xffff;
inline constexpr std::uint16_t default_pkey_limited = 0x7fff;
inline constexpr std::uint64_t default_subnet_prefix = 0xfe80000000000000;

}  // namespace freehca::layouts

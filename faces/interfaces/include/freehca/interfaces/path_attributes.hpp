// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/interfaces/attributes.hpp>

#include <freehca/hca/ports.hpp>

/// The path to the peer. Address handles use these attributes, and queue pairs use them from INIT
/// on. Default: 1 for the port, 0 or false for the others.
namespace freehca::path {

inline constexpr attribute_name<0x0501, std::uint32_t> port;
inline constexpr attribute_name<0x0502, std::uint16_t> dlid;
inline constexpr attribute_name<0x0503, std::uint8_t> sl;
inline constexpr attribute_name<0x0504, std::uint8_t> path_bits;
inline constexpr attribute_name<0x0505, std::uint8_t> static_rate;  ///< layouts::ib_rate
inline constexpr attribute_name<0x0506, bool> force_loopback;
/// Packets have a GRH, as between subnets. The attributes below are fields of the GRH.
inline constexpr attribute_name<0x0507, bool> global;
inline constexpr attribute_name<0x0508, std::uint8_t> sgid_index;
inline constexpr attribute_name<0x0509, std::uint8_t> hop_limit;
inline constexpr attribute_name<0x050a, std::uint8_t> traffic_class;
inline constexpr attribute_name<0x050b, std::uint32_t> flow_label;
/// 16 bytes in wire order. The entry points to them.
inline constexpr attribute_name<0x050c, gid> dgid;

}  // namespace freehca::path

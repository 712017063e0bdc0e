// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/attributes.hpp>

#include <freehca/hca/ports.hpp>

/// The way to the other side: of address handles, and of queue pairs from INIT on. Unless told, all
/// are 0 or false, but for the port, which is 1.
namespace freehca::path {

inline constexpr attribute_name<0x0501, std::uint32_t> port;
inline constexpr attribute_name<0x0502, std::uint16_t> dlid;
inline constexpr attribute_name<0x0503, std::uint8_t> sl;
inline constexpr attribute_name<0x0504, std::uint8_t> path_bits;
inline constexpr attribute_name<0x0505, std::uint8_t> static_rate;  ///< layouts::ib_rate
inline constexpr attribute_name<0x0506, bool> force_loopback;
/// With a GRH, as between subnets: what follows stands in it.
inline constexpr attribute_name<0x0507, bool> global;
inline constexpr attribute_name<0x0508, std::uint8_t> sgid_index;
inline constexpr attribute_name<0x0509, std::uint8_t> hop_limit;
inline constexpr attribute_name<0x050a, std::uint8_t> traffic_class;
inline constexpr attribute_name<0x050b, std::uint32_t> flow_label;
/// 16 bytes in wire order: the entry points to them.
inline constexpr attribute_name<0x050c, gid> dgid;

}  // namespace freehca::path

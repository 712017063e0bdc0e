// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Control memory protection table: the part of context memory in which the device protects its own
// queue contexts. Software lends the memory and never writes it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::layouts {

/// The four parts, in this order, of 2^cmpt_shift entries each (Linux 6.1 mlx4.h MLX4_CMPT_*).
enum class cmpt_type : std::uint8_t { qp = 0, srq = 1, cq = 2, eq = 3 };
inline constexpr unsigned cmpt_types = 4;
inline constexpr unsigned cmpt_shift = 24;

/// Byte offset from cmpt_base of the entry of object `number`; entry size from QUERY_DEV_CAP
/// c_mpt_entry_sz. An entry is laid out like `mpt` (illumos hermon_hw.h), and is firmware's alone.
constexpr std::uint64_t cmpt_offset(cmpt_type type, std::uint32_t number, std::size_t entry_bytes) {
  return ((static_cast<std::uint64_t>(type) << cmpt_shift) + number) * entry_bytes;
}
/// What the table takes of the context memory's address space.
constexpr std::uint64_t cmpt_bytes(std::size_t entry_bytes) {
  return (std::uint64_t{cmpt_types} << cmpt_shift) * entry_bytes;
}

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Bytes of one entry of each context table, as QUERY_DEV_CAP reports them and as the model addresses them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/model/options.hpp>

namespace freehca::model::entry_bytes {

// No capture gives these sizes. Each is the smallest power of two that holds the layout's fields, but for
// the dMPT, where illumos hermon_hw.h has 0x80. Chosen.
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

}  // namespace freehca::model::entry_bytes

namespace freehca::model::reserved {

// Entries at the start of each table that belong to firmware (docs/hardware.md: the captured cards' limits,
// turned back into capabilities).
inline constexpr std::uint32_t qps = 64;
inline constexpr std::uint32_t srqs = 64;
inline constexpr std::uint32_t cqs = 128;
inline constexpr std::uint32_t pds = 4;
inline constexpr std::uint32_t uars = 8;
inline constexpr std::uint32_t eqs = 4;    // no source: chosen
inline constexpr std::uint32_t mtts = 64;  // no source: chosen
inline constexpr std::uint32_t lkey =
    0x500;  // no source: chosen; an index within the reserved MPTs

/// The logarithm of the number of reserved MPTs: captures, section 2.
constexpr unsigned log_mpts(variant kind) {
  return kind == variant::connectx2 ? 4 : 8;
}
constexpr std::uint32_t mpts(variant kind) {
  return 1u << log_mpts(kind);
}

}  // namespace freehca::model::reserved

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where the registers are that QUERY_FW tells the host of, as offsets in BAR0.
#pragma once

#include <cstdint>

#include <freehca/layouts/register_map.hpp>

namespace freehca::model::places {

// Captures (the page, and that there are sixteen words); the offset in the page is chosen.
inline constexpr std::uint32_t error_buffer = layouts::bar0::error_buffer_area + 0x20;
inline constexpr std::uint32_t error_buffer_words = 16;

// No source: chosen, next to the other registers of that page.
inline constexpr std::uint32_t clear_interrupt = 0xf0058;

// No source: chosen. A page of its own for each, so that it can be mapped alone.
inline constexpr std::uint32_t clock = 0xe0000;
inline constexpr std::uint32_t comm_channel = 0xc0000;

}  // namespace freehca::model::places

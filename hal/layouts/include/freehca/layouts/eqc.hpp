// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Event queue context.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class eq_status : std::uint8_t {
  ok = 0x0,
  overflow = 0x9,  ///< illumos only
  write_failure = 0xa,
};
enum class eq_state : std::uint8_t { armed = 0x9, fired = 0xa, always_armed = 0xb };

/// Sources: Linux 6.1 mlx4.h struct mlx4_eq_context and eq.c; iPXE MT25408_PRM.h eqc for widths.
/// Linux has eq_period, eq_max_count and intr as single bytes, the low ones of these fields.
struct eqc {
  static constexpr std::size_t bytes = 0x40;
  as<eq_status> status           {0x00, 31, 28, "status"};  ///< output only
  /// Coalesce: every event into the first entry.
  as<bool>      ec               {0x00, 18, 18, "ec"};
  as<bool>      oi               {0x00, 17, 17, "oi"};  ///< overrun ignore
  as<eq_state>  state            {0x00, 11,  8, "state"};
  /// of the first entry in its page, in units of 32 bytes
  bits          page_offset      {0x08, 11,  5, "page_offset"};
  bits          log_eq_size      {0x0c, 28, 24, "log_eq_size"};
  bits          eq_period        {0x10, 31, 16, "eq_period"};  ///< moderation, microseconds
  bits          eq_max_count     {0x10, 15,  0, "eq_max_count"};  ///< moderation, events
  bits          intr             {0x14,  9,  0, "intr"};  ///< MSI-X vector
  bits          log_page_size    {0x18, 29, 24, "log_page_size"};  ///< in units of 4 KB
  /// offset of the first MTT entry from mtt_base
  addr          mtt_base_addr    {0x18, 39,  3, "mtt_base_addr"};
  bits          consumer_counter {0x28, 23,  0, "consumer_counter"};
  bits          producer_counter {0x2c, 23,  0, "producer_counter"};
};
static_assert(eqc{}.intr.offset == 0x14 && eqc{}.consumer_counter.offset == 0x28 && claimed<eqc>().sound);

}  // namespace freehca::layouts

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion queue context.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class cq_status : std::uint8_t { ok = 0x0, overflow = 0x9, write_failure = 0xa };
enum class cq_state : std::uint8_t { disarmed = 0x0, armed_solicited = 0x6, armed = 0x9, fired = 0xa };

/// Sources: Linux 6.1 mlx4.h struct mlx4_cq_context and cq.c; iPXE MT25408_PRM.h
/// completion_queue_context for widths. MODIFY_CQ takes the same mailbox: page_offset, log_cq_size,
/// log_page_size and mtt_base_addr for a new size, cq_period and cq_max_count for moderation.
struct cqc {
  static constexpr std::size_t bytes = 0x40;
  as<cq_status> status       {0x00, 31, 28, "status"};  ///< output only
  as<bool>      timestamp    {0x00, 19, 19, "timestamp"};  ///< time stamps in the CQEs (Linux cq.c)
  as<bool>      cc           {0x00, 18, 18, "cc"};  ///< coalesce: every CQE into the first entry
  as<bool>      oi           {0x00, 17, 17, "oi"};  ///< overrun ignore
  as<cq_state>  state        {0x00, 11,  8, "state"};  ///< 0 as input
  /// of the first entry in its page, in units of 32 bytes
  bits          page_offset  {0x08, 11,  5, "page_offset"};
  bits          log_cq_size  {0x0c, 28, 24, "log_cq_size"};
  bits          usr_page     {0x0c, 23,  0, "usr_page"};  ///< UAR page of the doorbells
  bits          cq_period    {0x10, 31, 16, "cq_period"};  ///< moderation, microseconds
  bits          cq_max_count {0x10, 15,  0, "cq_max_count"};  ///< moderation, completions
  /// Event queue of completion events: nine bits by the PRM, one byte in Linux.
  bits comp_eqn               {0x14,  8,  0, "comp_eqn"};
  bits log_page_size          {0x18, 29, 24, "log_page_size"};  ///< in units of 4 KB
  /// Offset of the first MTT entry from mtt_base.
  addr mtt_base_addr          {0x18, 39,  3, "mtt_base_addr"};
  bits last_notified_index    {0x20, 23,  0, "last_notified_index"};  ///< output only
  bits solicit_producer_index {0x24, 23,  0, "solicit_producer_index"};  ///< output only
  bits consumer_counter       {0x28, 23,  0, "consumer_counter"};
  bits producer_counter       {0x2c, 23,  0, "producer_counter"};  ///< output only
  /// Bus address of the doorbell record.
  addr db_rec_addr            {0x38, 63,  3, "db_rec_addr"};
};
static_assert(cqc{}.comp_eqn.offset == 0x14 && cqc{}.db_rec_addr.offset == 0x38 && claimed<cqc>().sound);

/// What firmware wants in every byte of a CQ's buffer when software initialises it (Linux 6.1
/// cq.c).
inline constexpr std::uint8_t cq_initial_byte = 0xcc;

}  // namespace freehca::layouts

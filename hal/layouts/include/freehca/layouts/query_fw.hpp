// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The output of QUERY_FW.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Sources: Linux 6.1 fw.c mlx4_QUERY_FW; iPXE MT25408_PRM.h query_fw (the time stamp, dt, ccq).
/// A *_bar value b means BAR 2b.
struct query_fw {
  static constexpr std::size_t bytes = 0x100;
  /// memory that MAP_FA must lend, in units of 4 KB
  bits     fw_pages                {0x00, 31, 16, "fw_pages"};
  bits     fw_rev_major            {0x00, 15,  0, "fw_rev_major"};
  bits     fw_rev_subminor         {0x04, 31, 16, "fw_rev_subminor"};
  bits     fw_rev_minor            {0x04, 15,  0, "fw_rev_minor"};
  /// Number of the primary physical function.
  bits     ppf_id                  {0x08, 23, 16, "ppf_id"};
  /// Linux takes 2 and 3; 3 has the new port commands
  bits     cmd_interface_rev       {0x08, 15,  0, "cmd_interface_rev"};
  as<bool> dt                      {0x0c, 31, 31, "dt"};  ///< debug trace
  bits     log_max_outstanding_cmd {0x0c,  7,  0, "log_max_outstanding_cmd"};
  /// The time stamp is in packed decimal.
  bits     fw_hour                 {0x10, 31, 24, "fw_hour"};
  bits     fw_minutes              {0x10, 23, 16, "fw_minutes"};
  bits     fw_seconds              {0x10, 15,  8, "fw_seconds"};
  as<bool> ccq                     {0x10,  1,  1, "ccq"};
  bits     fw_year                 {0x14, 31, 16, "fw_year"};
  bits     fw_month                {0x14, 15,  8, "fw_month"};
  bits     fw_day                  {0x14,  7,  0, "fw_day"};
  /// Offset in the BAR that clr_int_bar names.
  addr     clr_int_base            {0x20, 63,  0, "clr_int_base"};
  bits     clr_int_bar             {0x28, 31, 30, "clr_int_bar"};
  /// The catastrophic error buffer.
  addr     error_buf_offset        {0x30, 63,  0, "error_buf_offset"};
  bits     error_buf_size          {0x38, 31,  0, "error_buf_size"};  ///< in 32-bit words
  bits     error_buf_bar           {0x3c, 31, 30, "error_buf_bar"};
  addr     comm_base               {0x40, 63,  0, "comm_base"};  ///< communication channel
  bits     comm_bar                {0x48, 31, 30, "comm_bar"};
  addr     clock_offset            {0x50, 63,  0, "clock_offset"};  ///< free-running clock, 64 bits
  bits     clock_bar               {0x58, 31, 30, "clock_bar"};
};
static_assert(query_fw{}.error_buf_offset.offset == 0x30 && claimed<query_fw>().sound);

inline constexpr std::uint16_t cmd_interface_rev_min = 2, cmd_interface_rev_max = 3;

}  // namespace freehca::layouts

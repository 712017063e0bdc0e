// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The host command register: seven words at hcr_offset of BAR 0.
#pragma once

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/register_map.hpp>

namespace freehca::layouts {

/// Sources: Linux 6.1 cmd.c (HCR_* offsets and mlx4_cmd_post), iPXE MT25408_PRM.h
/// hca_command_register. Words are written one at a time, 32 bits each; the last one, which carries
/// `go`, after the others.
struct hcr {
  static constexpr std::size_t bytes = 0x1c;
  /// immediate input, or the bus address of the input mailbox
  bits               in_param    {0x00, 63,  0, "in_param"};
  bits               in_modifier {0x08, 31,  0, "in_modifier"};
  /// address of the output mailbox, or the immediate output
  bits               out_param   {0x0c, 63,  0, "out_param"};
  bits               token       {0x14, 31, 16, "token"};  ///< comes back in the completion event
  as<command_status> status      {0x18, 31, 24, "status"};  ///< valid while go is clear
  as<bool>           go          {0x18, 23, 23, "go"};  ///< set by software, cleared by firmware
  as<bool>           e           {0x18, 22, 22, "e"};  ///< report completion by an event
  as<bool>           t           {0x18, 21, 21, "t"};  ///< toggles with each command
  /// Four bits in the hardware's table; Linux shifts an 8-bit value to the same place but uses four
  /// bits.
  bits                opcode_modifier {0x18, 15, 12, "opcode_modifier"};
  as<layouts::opcode> opcode          {0x18, 11,  0, "opcode"};
};
static_assert(hcr{}.token.offset == 0x14 && hcr{}.go.lo == 23 && claimed<hcr>().sound);

/// Command mailboxes: size and alignment (Linux 6.1 cmd.h MLX4_MAILBOX_SIZE; cmd.c's pool
/// alignment).
inline constexpr std::size_t mailbox_bytes = 4096;

/// The token of a command that is polled for (Linux 6.1 cmd.c CMD_POLL_TOKEN).
inline constexpr std::uint16_t polled_token = 0xffff;

}  // namespace freehca::layouts

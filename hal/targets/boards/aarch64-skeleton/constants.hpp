// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The skeleton of a board: what docs/porting.md asks for, stage by stage. 0 is "not known yet"; the
// image says the name of what it needs next. Take each number from the board's manual, and write
// down beside it where it stands there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "board.hpp"

namespace freehca::bare::constants {

// ---- Stage 1: the serial line, which firmware has set up (rate, format).

/// "arm,pl011", "ns16550a" or "snps,dw-apb-uart": the registers' layout
/// (hal/targets/device_tree/src/serial.cpp). Wrong: silence, mostly.
inline constexpr const char* console_kind = "arm,pl011";
/// Wrong: silence. Here: QEMU's machine "virt" (QEMU 7.2 hw/arm/virt.c, VIRT_UART).
inline constexpr window console = {0x0900'0000, 0x1000};

/// Of a 16550 alone, in bytes: from one register to the next, and of an access to one, 1 or 4. A
/// device tree has them as "reg-shift" (as a power of 2) and "reg-io-width"; most DesignWare lines
/// have 4 and 4. Wrong: silence.
inline constexpr std::size_t console_register_step = 1;
inline constexpr unsigned console_access = 1;

// ---- Stage 3: memory.

/// All of the memory that the image is loaded to, from its first address to where it ends, or to
/// where firmware keeps something for itself. The adapter's arena, 29 MB, lies behind the image.
/// Too much: EXCEPTION at an address of memory that is not there, or firmware's data is
/// overwritten.
inline constexpr window memory = {0, 0};

// ---- Stage 4: the clock.

/// Ticks of the generic timer in a second; 0: firmware wrote CNTFRQ_EL0. Wrong: each duration on
/// the console is wrong by the same factor, and waiting ends too early or too late by it.
inline constexpr std::uint64_t timer_rate = 0;

// ---- Stage 5: configuration space.

/// Of the host bridge: 1 MiB for each bus, from `first_bus` on. A shorter one than the bridge has
/// is right as well: adapters behind a root port need two or three buses. Wrong: an EXCEPTION, or
/// "no such adapter on any bus".
inline constexpr window ecam = {0, 0};
inline constexpr unsigned first_bus = 0;

/// Does what a device reads and writes agree with the processor's caches, with no help by software?
/// The manual says: coherent, snooped, ACE-Lite or CCI behind the root complex. Wrongly true:
/// answers that make no sense at QUERY_FW or later, not each time in the same place.
enum class answer : std::uint8_t { not_known, yes, no };
inline constexpr answer devices_see_caches = answer::not_known;

// ---- Stage 6: addresses for BARs.

/// What the host bridge passes on below 4 GiB, at the same address on the bus as on the
/// processor's side. Not needed where firmware gave addresses to the adapter. Wrong: registers read
/// as all ones, or an EXCEPTION at stage 7.
inline constexpr window bar_addresses = {0, 0};

// ---- Stage 10: interrupts.

/// By name, in this order, and without what is not there: .which = gic_registers::version::v2 with
/// .distributor, .interface and .messages (the frame of GICv2m), or ::v3 with .distributor,
/// .redistributors and .messages (the ITS). Not known: event queues are polled, and all else works.
/// Wrong: an EXCEPTION, or "no interrupt came".
inline constexpr gic_registers gic = {};

// ---- The end, and words for the image.

/// How firmware is called to switch the machine off. Wrong: the last line comes, and the machine
/// stays on.
inline constexpr firmware_calls psci = firmware_calls::none;
/// As on a command line: take_over, assign, and the x-fault words of docs/bring-up-bare.md.
inline constexpr const char* command_line = "";

}  // namespace freehca::bare::constants

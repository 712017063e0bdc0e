// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How much the adapter takes on, besides what it reports (adapter_limits.hpp). What a real card
// keeps in its own memory stands in the host's here, so that a guest must not be able to grow it
// without end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::model::limits {

/// Objects of each kind in hardware's hands at once: queue pairs, completion queues, shared receive
/// queues. The tables may be larger, as on cards. No source: chosen. What is more gets the status
/// "exceeds limits".
inline constexpr std::size_t objects = std::size_t{1} << 16;

/// Pages of one MAP command: each is written. Drivers lend 64 MiB at most with one (256 chunks of
/// 256 KiB, Linux icm.c). No source: chosen.
inline constexpr std::uint64_t pages_per_map = std::uint64_t{1} << 18;

/// Pages of one fast registration. Linux asks for 511 at most (hw/mlx4/mlx4_ib.h,
/// MLX4_MAX_FAST_REG_PAGES). No source: chosen.
inline constexpr std::uint64_t fast_register_pages = std::uint64_t{1} << 16;

/// BlueFlame registers whose last copy is remembered. A driver has one for each processor that
/// posts at once. Who writes to more makes the adapter forget copies that were looked at, and, when
/// there are none, those that are under way: one that is cut off then goes untold, and one whose
/// number comes in two halves is no doorbell. No source: chosen.
inline constexpr std::size_t blueflame_registers = 512;

/// How long the rest of a copy to a BlueFlame register is waited for, in nanoseconds. It comes in a
/// few hundred, unless the driver's processor was interrupted. No source: chosen.
inline constexpr std::uint64_t blueflame_patience = 10'000'000;

/// Work requests that all send queues together hold beyond one for each. No source: chosen.
inline constexpr std::size_t requests = std::size_t{1} << 15;

/// Things due now, most of them packets under way inside, from which on senders wait. No source:
/// chosen.
inline constexpr std::size_t backlog = std::size_t{1} << 14;
/// How long they wait.
inline constexpr std::uint64_t backlog_pause_ns = 1000;

/// What cables have brought and has not been looked at, from which on their other ends should wait.
/// What is under way inside does not count: it would shut a link out for as long as the adapter
/// talks to itself. No source: chosen.
inline constexpr std::size_t link_backlog = 256;
/// Packets that wait for room on a cable: those that were under way inside when it became full, and
/// acknowledgements. What is more is discarded. No source: chosen.
inline constexpr std::size_t link_waiting = std::size_t{1} << 15;

}  // namespace freehca::model::limits

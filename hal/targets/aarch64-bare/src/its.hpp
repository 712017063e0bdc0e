// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/machine.hpp>
#include <freehca/hal/status.hpp>

namespace freehca::bare::its {

/// Tables are this large, and aligned so.
inline constexpr std::size_t table_bytes = std::size_t{64} << 10;

/// Of registers that name a table for a redistributor: inner shareable, cached for reads and writes
/// (Arm IHI 0069H, 12.11.32 GICR_PROPBASER).
inline constexpr std::uint64_t shared = 0x400, cached_and_shared = shared | 0x380;

/// Switches the ITS on and gives it `tables`, six times table_bytes, zeroed; all its interrupts go
/// to the processor of this redistributor, which has this number. False: there is none that sees
/// tables as the processor's caches do.
bool start(const window& in, std::byte* tables, std::uint64_t redistributor, std::uint64_t number);

/// What `event`, written to the doorbell by `requester`, raises. driver_error::unsupported: the
/// requester's number does not fit, or a second one asks; transport_error::timeout: the ITS takes
/// no commands.
status map_event(unsigned requester, unsigned event, unsigned interrupt);

/// Where devices write.
std::uint64_t doorbell();

}  // namespace freehca::bare::its

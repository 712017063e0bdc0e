// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/status.hpp>

namespace freehca {

enum class severity : std::uint8_t { error, warning, info, debug };

/// The record of one firmware command that the trace sink receives when the command has ended.
struct trace_record {
  std::uint16_t opcode = 0;
  std::uint8_t opcode_modifier = 0;
  std::uint8_t lane = 0;
  std::uint32_t input_modifier = 0;
  std::uint64_t queued = 0, posted = 0, completed = 0;  ///< nanoseconds of the platform's clock
  status outcome;
};

}  // namespace freehca

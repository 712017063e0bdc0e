// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/status.hpp>

namespace freehca {

enum class severity : std::uint8_t { error, warning, info, debug };

/// The conditions that the driver reports to the platform's log. A comment that names numbers
/// describes log_record::numbers.
enum class log_topic : std::uint8_t {
  not_entered,          ///< a thread has called the owner log_record::name without entering it
  exceeds_limits,       ///< the amount that the device asks for, a budget::item, the budget's bound
  region_stays_mapped,  ///< the platform refused to unmap the memory of a destroyed region
  no_error_buffer,  ///< the words, the address and the BAR of an error buffer that cannot be read
  memory_error,     ///< the device reports an ECC error
  too_hot,          ///< the device reports that it is too hot
};

/// A condition as the log function receives it. describe() of freehca/texts writes it in words.
struct log_record {
  log_topic topic{};
  severity level{};
  const char* name = nullptr;
  std::uint64_t numbers[3] = {};
};

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

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <freehca/loopback_traffic/scattered_memory.hpp>

namespace freehca::loopback_traffic {

/// One message's place in a buffer: `bytes` bytes of payload at `offset`, with guard bytes before
/// and behind.
struct message {
  static constexpr std::size_t guard = 64;

  std::uint64_t number = 0;  ///< of all messages: no two have the same payload
  std::size_t offset = 0;    ///< at least `guard`
  std::size_t bytes = 0;

  /// Writes the payload.
  void write(scattered_memory& to) const;
  /// Writes the guard bytes around the place.
  void write_guards(scattered_memory& to) const;
  /// Empty when payload and guards are as they must be; else what is wrong, and where.
  std::string check(const scattered_memory& in) const;
};

}  // namespace freehca::loopback_traffic

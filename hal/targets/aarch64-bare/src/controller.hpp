// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/machine.hpp>

#include "board.hpp"

namespace freehca::bare {

/// An interrupt controller that is switched on.
struct controller {
  const char* text;  ///< how messages arrive, or why none do
  /// As machine::message_for(); null: it takes no messages.
  result<message> (*message_for)(unsigned vector, unsigned requester);
  /// Acknowledges what has come, and tells of it.
  void (*take)();
};

/// Null: its registers cannot be reached.
const controller* start_gicv2(const gic_registers& in);
/// `tables` are its_bytes of memory for the ITS, zeroed and aligned to their size; null: there is
/// too little for it.
const controller* start_gicv3(const gic_registers& in, std::byte* tables);
inline constexpr std::size_t its_bytes = std::size_t{512} << 10;

inline volatile std::uint8_t& octet(std::byte* at) {
  return *reinterpret_cast<volatile std::uint8_t*>(at);
}
inline volatile std::uint32_t& word(std::byte* at) {
  return *static_cast<volatile std::uint32_t*>(static_cast<void*>(at));
}
inline volatile std::uint64_t& double_word(std::byte* at) {
  return *static_cast<volatile std::uint64_t*>(static_cast<void*>(at));
}

/// Null: they are not there, or there is no room in the page tables.
inline std::byte* map_registers(const window& at) {
  return at.bytes == 0 ? nullptr : machine::map(at.base, at.bytes, caching::device);
}

}  // namespace freehca::bare

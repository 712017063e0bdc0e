// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/machine.hpp>
#include <freehca/device_tree/tree.hpp>

namespace freehca::bare {

/// An interrupt controller that is switched on.
struct controller {
  const char* text;  ///< how messages arrive, or why none do
  /// As machine::message_for(); null: it takes no messages.
  result<message> (*message_for)(unsigned vector, unsigned requester);
  /// Acknowledges what has come, and tells of it.
  void (*take)();
};

/// Null: the machine has another controller.
const controller* start_gicv2(const device_tree::tree& in);
/// `tables` are its_bytes of memory for the ITS, zeroed and aligned to their size; null: there is
/// too little for it.
const controller* start_gicv3(const device_tree::tree& in, std::byte* tables);
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

/// Entry `index` of a node's registers, mapped; null: it is not there.
inline std::byte* map_registers(const device_tree::node& n, unsigned index,
                                std::uint64_t* address) {
  device_tree::window w;
  if (!n.reg(index, w).ok()) return nullptr;
  *address = w.base;
  return machine::map(w.base, w.bytes, caching::device);
}

}  // namespace freehca::bare

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <freehca/wires_shm/fabric_port.hpp>

namespace freehca::wires {

/// A packet with the LIDs of an LRH, a number, and bytes that follow from both.
inline std::vector<std::byte> packet(unsigned dlid, unsigned slid, std::uint32_t number,
                                     std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] = static_cast<std::byte>(i < 16 ? 0 : slid * 7 + number * 13 + i * 31 + bytes);
  const auto put16 = [&](std::size_t at, unsigned value) {
    if (at + 2 > bytes) return;
    made[at] = static_cast<std::byte>(value >> 8);
    made[at + 1] = static_cast<std::byte>(value);
  };
  put16(2, dlid);
  put16(6, slid);
  put16(8, number >> 16);
  put16(10, number & 0xffff);
  return made;
}
inline unsigned get16(std::span<const std::byte> from, std::size_t at) {
  return std::to_integer<unsigned>(from[at]) << 8 | std::to_integer<unsigned>(from[at + 1]);
}
inline unsigned dlid_of(std::span<const std::byte> from) {
  return get16(from, 2);
}
inline unsigned slid_of(std::span<const std::byte> from) {
  return get16(from, 6);
}
inline std::uint32_t number_of(std::span<const std::byte> from) {
  return get16(from, 8) << 16 | get16(from, 10);
}
/// Whether a packet of 16 bytes or more is one of packet(), unchanged.
inline bool is_whole(std::span<const std::byte> from) {
  const auto wanted = packet(dlid_of(from), slid_of(from), number_of(from), from.size());
  return std::equal(wanted.begin(), wanted.end(), from.begin(), from.end());
}

/// A name that no other process has.
inline std::string new_name() {
  static unsigned count = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}
inline std::string path_of(const std::string& name) {
  return "/dev/shm/freehca-" + std::to_string(geteuid()) + "-" + name;
}
inline bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

/// FREEHCA_SEED, or a new one, which is printed.
inline std::uint32_t seed() {
  const char* given = getenv("FREEHCA_SEED");
  const std::uint32_t value = given != nullptr
                                  ? static_cast<std::uint32_t>(strtoul(given, nullptr, 0))
                                  : std::random_device()();
  std::printf("FREEHCA_SEED=%u\n", value);
  return value;
}

}  // namespace freehca::wires

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/access_flavour.hpp>
#include <freehca/hal/regions.hpp>
#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

#ifdef FREEHCA_ACCESS_ROUTED
namespace routed {
void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
/// Weak functions of a recorder, as in mmio.hpp. heard_dma_store() is called after the store.
/// hears_dma_load() is called before the load.
[[gnu::weak]] void heard_dma_store(const std::byte* to, std::size_t bytes) noexcept;
[[gnu::weak]] void hears_dma_load(const std::byte* from, std::size_t bytes) noexcept;

inline void store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  dma_store(to, from, bytes);
  if (&heard_dma_store != nullptr) heard_dma_store(to, bytes);
}
inline void load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (&hears_dma_load != nullptr) hears_dma_load(from, bytes);
  dma_load(to, from, bytes);
}
}  // namespace routed
#endif

/// All stores to, and loads from, memory that the device can see. Words are big-endian in memory. A
/// word is stored or loaded whole. Strings of bytes are stored or loaded in any order. The word
/// that passes a structure to the device (owner bit, doorbell record) is therefore stored last,
/// after a barrier of barrier.hpp.
namespace dma {

template <class W>
[[gnu::always_inline]] inline void store_be(std::byte* to, W value) {
  static_assert(sizeof(W) == 4 || sizeof(W) == 8);
  value = layouts::swap_be(value);
#ifdef FREEHCA_ACCESS_ROUTED
  std::byte word[sizeof value];
  __builtin_memcpy(word, &value, sizeof value);
  routed::store(to, word, sizeof value);
#else
  *static_cast<volatile W*>(static_cast<void*>(to)) = value;
#endif
}
[[gnu::always_inline]] inline void store_be32(std::byte* to, std::uint32_t v) {
  store_be<std::uint32_t>(to, v);
}
[[gnu::always_inline]] inline void store_be64(std::byte* to, std::uint64_t v) {
  store_be<std::uint64_t>(to, v);
}

template <class W>
[[gnu::always_inline]] inline W load_be(const std::byte* from) {
#ifdef FREEHCA_ACCESS_ROUTED
  std::byte word[sizeof(W)];
  routed::load(word, from, sizeof word);
  W value;
  __builtin_memcpy(&value, word, sizeof value);
#else
  W value = *static_cast<const volatile W*>(static_cast<const void*>(from));
#endif
  return layouts::swap_be(value);
}
[[gnu::always_inline]] inline std::uint32_t load_be32(const std::byte* from) {
  return load_be<std::uint32_t>(from);
}
[[gnu::always_inline]] inline std::uint64_t load_be64(const std::byte* from) {
  return load_be<std::uint64_t>(from);
}

inline void store_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef FREEHCA_ACCESS_ROUTED
  routed::store(to, from, bytes);
#else
  __builtin_memcpy(to, from, bytes);
#endif
}
inline void load_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef FREEHCA_ACCESS_ROUTED
  routed::load(to, from, bytes);
#else
  __builtin_memcpy(to, from, bytes);
#endif
}

/// Zeroes memory that the device can see.
inline void clear(std::byte* to, std::size_t bytes) {
#ifdef FREEHCA_ACCESS_ROUTED
  static constexpr std::byte zeros[512] = {};
  while (bytes != 0) {
    const std::size_t step = bytes < sizeof zeros ? bytes : sizeof zeros;
    routed::store(to, zeros, step);
    to += step;
    bytes -= step;
  }
#else
  __builtin_memset(to, 0, bytes);
#endif
}

}  // namespace dma
}  // namespace freehca

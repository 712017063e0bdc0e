// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The accessors of the routed flavour for mapped memory. They do the same as those of the direct
// flavour in hal/mmio.hpp and hal/dma.hpp, but each access is a call that a recorder can observe.
#include <bit>
#include <cstring>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>

namespace freehca::routed {

namespace {

template <class W>
W bus_order(W value) {
  return std::endian::native == std::endian::little ? layouts::swap_bytes(value) : value;
}
/// A word of four or eight bytes is copied by one access, as owner bits require. Other numbers of
/// bytes are copied in any order.
template <class W>
void store_word(std::byte* to, const std::byte* from) {
  W word;
  std::memcpy(&word, from, sizeof word);
  *static_cast<volatile W*>(static_cast<void*>(to)) = word;
}
template <class W>
void load_word(std::byte* to, const std::byte* from) {
  const W word = *static_cast<const volatile W*>(static_cast<const void*>(from));
  std::memcpy(to, &word, sizeof word);
}
bool is_word(const std::byte* at, std::size_t bytes, std::size_t width) {
  return bytes == width && reinterpret_cast<std::uintptr_t>(at) % width == 0;
}

}  // namespace

std::uint32_t mmio_read_32(const std::byte* at) noexcept {
  return bus_order(*static_cast<const volatile std::uint32_t*>(static_cast<const void*>(at)));
}
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept {
  *static_cast<volatile std::uint32_t*>(static_cast<void*>(at)) = bus_order(value);
}
void mmio_write_64(std::byte* at, std::uint64_t value) noexcept {
  *static_cast<volatile std::uint64_t*>(static_cast<void*>(at)) = bus_order(value);
}
void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (is_word(to, bytes, 8)) store_word<std::uint64_t>(to, from);
  else if (is_word(to, bytes, 4)) store_word<std::uint32_t>(to, from);
  else std::memcpy(to, from, bytes);
}
void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (is_word(from, bytes, 8)) load_word<std::uint64_t>(to, from);
  else if (is_word(from, bytes, 4)) load_word<std::uint32_t>(to, from);
  else std::memcpy(to, from, bytes);
}

}  // namespace freehca::routed

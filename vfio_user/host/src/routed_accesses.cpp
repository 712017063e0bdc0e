// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The accessors of the routed flavour. An address that belongs to a remote device of this process
// is a register of that device, and is accessed by a message. Any other register is mapped, over
// VFIO. Memory is shared with the server, which may read words while they are written.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/layouts/bit_operations.hpp>

#include "windows.hpp"

namespace freehca::vfio_user_host {
namespace {

struct window {
  const std::byte* base;
  std::size_t bytes;
  remote_device* to;
  unsigned bar;
  bool shared;
};

std::mutex opening;
std::vector<window> windows;

// Returns a copy, because another thread may open a device at the same time.
window find(const std::byte* at) {
  const std::lock_guard alone(opening);
  for (const window& w : windows)
    if (at >= w.base && at < w.base + w.bytes) return w;
  return {};
}

}  // namespace

void open_window(const std::byte* base, std::size_t bytes, remote_device& to, unsigned bar) {
  const std::lock_guard alone(opening);
  windows.push_back({base, bytes, &to, bar, false});
}

// Inserts the window before the window that contains it, so that it is found first.
void open_shared_window(const std::byte* base, std::size_t bytes, remote_device& to) {
  const std::lock_guard alone(opening);
  windows.insert(windows.begin(), {base, bytes, &to, 0, true});
}

void close_windows(const remote_device& of) {
  const std::lock_guard alone(opening);
  std::erase_if(windows, [&of](const window& w) { return w.to == &of; });
}

}  // namespace freehca::vfio_user_host

namespace freehca::routed {
namespace {

template <class Word>
Word bus_order(Word value) {
  return std::endian::native == std::endian::little ? layouts::swap_bytes(value) : value;
}

template <class Word>
void store_word(std::byte* to, const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  __atomic_store_n(static_cast<Word*>(static_cast<void*>(to)), word, __ATOMIC_RELEASE);
}

template <class Word>
void load_word(std::byte* to, const std::byte* from) {
  const Word word =
      __atomic_load_n(static_cast<const Word*>(static_cast<const void*>(from)), __ATOMIC_ACQUIRE);
  std::memcpy(to, &word, sizeof word);
}

bool is_word(const std::byte* at, std::size_t bytes, std::size_t width) {
  return bytes == width && reinterpret_cast<std::uintptr_t>(at) % width == 0;
}

// One store in the byte order of the bus. It becomes visible after all earlier stores.
void store_shared(std::byte* at, std::uint64_t value, unsigned bytes) {
  std::array<std::byte, 8> word;
  for (unsigned i = bytes; i-- > 0; value >>= 8) word[i] = static_cast<std::byte>(value);
  if (bytes == 8) store_word<std::uint64_t>(at, word.data());
  else store_word<std::uint32_t>(at, word.data());
}

void write(std::byte* at, std::uint64_t value, unsigned bytes) {
  const auto w = vfio_user_host::find(at);
  if (w.shared) store_shared(at, value, bytes);
  else if (w.to != nullptr)
    w.to->write_register(w.bar, static_cast<std::size_t>(at - w.base), value, bytes);
  else if (bytes == 8)
    *static_cast<volatile std::uint64_t*>(static_cast<void*>(at)) = bus_order(value);
  else
    *static_cast<volatile std::uint32_t*>(static_cast<void*>(at)) =
        bus_order(static_cast<std::uint32_t>(value));
}

}  // namespace

std::uint32_t mmio_read_32(const std::byte* at) noexcept {
  const auto w = vfio_user_host::find(at);
  if (w.to != nullptr) return w.to->read_register(w.bar, static_cast<std::size_t>(at - w.base));
  return bus_order(*static_cast<const volatile std::uint32_t*>(static_cast<const void*>(at)));
}
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept {
  write(at, value, 4);
}
void mmio_write_64(std::byte* at, std::uint64_t value) noexcept {
  write(at, value, 8);
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

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The routed accessors. A register is found by its address among the BARs of all machines of the
// process. Memory is accessed directly, or through the processor_cache if there is one.
#include "routed.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/in_process/gate.hpp>
#include <freehca/in_process/machine.hpp>
#include <freehca/in_process/processor_cache.hpp>

namespace freehca::in_process {

namespace {

struct window {
  const std::byte* base;
  std::size_t bytes;
  machine* to;
  unsigned bar;
};

// Not on the heap, because a test may restore the heap of a machine to an earlier state
// (tests/fuzz). The window that was used last is in front and is found first.
constexpr std::size_t most_windows = 256;
std::array<window, most_windows> windows;
std::size_t used = 0;

const window* find(const std::byte* at) {
  for (std::size_t i = 0; i < used; ++i) {
    if (at < windows[i].base || at >= windows[i].base + windows[i].bytes) continue;
    if (i > 1) std::swap(windows[i], windows[1]);
    if (i > 0) std::swap(windows[1], windows[0]);
    return windows.data();
  }
  return nullptr;
}

}  // namespace

void route(const std::byte* base, std::size_t bytes, machine& to, unsigned bar) {
  if (used == most_windows) throw std::length_error("too many machines in one process");
  windows[used++] = {base, bytes, &to, bar};
}

void unroute(const machine& of) {
  used = static_cast<std::size_t>(
      std::remove_if(windows.begin(), windows.begin() + static_cast<std::ptrdiff_t>(used),
                     [&of](const window& w) { return w.to == &of; }) -
      windows.begin());
}

}  // namespace freehca::in_process

namespace freehca::routed {

namespace {
constexpr std::uint32_t nobody = ~std::uint32_t{0};

void write(std::byte* at, std::uint64_t value, unsigned bytes) {
  const in_process::gate alone;
  if (const auto* w = in_process::find(at))
    w->to->mmio_write(w->bar, static_cast<std::size_t>(at - w->base), value, bytes);
}
}  // namespace

std::uint32_t mmio_read_32(const std::byte* at) noexcept {
  const in_process::gate alone;
  const auto* w = in_process::find(at);
  return w == nullptr ? nobody
                      : w->to->mmio_read_32(w->bar, static_cast<std::size_t>(at - w->base));
}
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept {
  write(at, value, 4);
}
void mmio_write_64(std::byte* at, std::uint64_t value) noexcept {
  write(at, value, 8);
}

void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (auto* const cache = in_process::processor_cache::present()) cache->store(to, from, bytes);
  else std::memcpy(to, from, bytes);
}
void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (auto* const cache = in_process::processor_cache::present()) cache->load(to, from, bytes);
  else std::memcpy(to, from, bytes);
}

}  // namespace freehca::routed

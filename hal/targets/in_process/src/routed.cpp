// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The routed accessors: registers are found by address among all machines of the process; memory is memory.
#include "routed.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::in_process {

namespace {

struct window {
  const std::byte* base;
  std::size_t bytes;
  machine* to;
  unsigned bar;
};

std::vector<window>& windows() {
  static std::vector<window> all;
  return all;
}

const window* find(const std::byte* at) {
  for (const window& w : windows())
    if (at >= w.base && at < w.base + w.bytes) return &w;
  return nullptr;
}

}  // namespace

void route(const std::byte* base, std::size_t bytes, machine& to, unsigned bar) {
  windows().push_back({base, bytes, &to, bar});
}

void unroute(const machine& of) {
  auto& all = windows();
  all.erase(std::remove_if(all.begin(), all.end(), [&of](const window& w) { return w.to == &of; }),
            all.end());
}

}  // namespace freehca::in_process

namespace freehca::routed {

namespace {
constexpr std::uint32_t nobody = ~std::uint32_t{0};

void write(std::byte* at, std::uint64_t value, unsigned bytes) {
  if (const auto* w = in_process::find(at))
    w->to->mmio_write(w->bar, static_cast<std::size_t>(at - w->base), value, bytes);
}
}  // namespace

std::uint32_t mmio_read_32(const std::byte* at) noexcept {
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
  std::memcpy(to, from, bytes);
}
void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}

}  // namespace freehca::routed

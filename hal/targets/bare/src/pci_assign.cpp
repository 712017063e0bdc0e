// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// BARs: what they are, and addresses for them.
#include <freehca/bare/pci.hpp>

namespace freehca::bare {

namespace {

constexpr std::uint64_t bridge_unit = std::uint64_t{1} << 20;
constexpr const char* step = "giving addresses to the adapter's BARs";

constexpr std::uint64_t rounded_up(std::uint64_t n, std::uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// The lowest bit that takes a one is the size.
std::uint64_t size_of(std::uint64_t writable) {
  return writable & (~writable + 1);
}

/// A window without addresses has its base above its limit.
constexpr std::uint32_t closed_window = 0x0000'fff0;
constexpr unsigned bridge_bars = 2;

const trouble does_not_fit = {
    step, "they do not fit into the host bridge's memory window",
    "give it a larger one, or the adapter's firmware a smaller BAR 2 (log2_uar_bar_megabytes)",
    driver_error::no_resource};

/// The largest first, so that each is aligned to its size when `next` is to the largest.
void give_addresses(const pci_space& to, pci_bar* bars, unsigned count, std::uint64_t next) {
  for (std::uint64_t size = std::uint64_t{1} << 32; size != 0; size >>= 1) {
    for (unsigned i = 0; i < count; ++i) {
      if (bars[i].bytes != size) continue;
      bars[i].address = next;
      const unsigned offset = pci_space::first_bar + 4 * i;
      to.write(offset, static_cast<std::uint32_t>(next));
      if (bars[i].wide) to.write(offset + 4, static_cast<std::uint32_t>(next >> 32));
      next += size;
    }
  }
}

/// Address bits 31 to 20 stand in bits 15 to 4 of base and of limit.
void open_window(const pci_space& bridge, window to) {
  const std::uint64_t last = to.base + to.bytes - bridge_unit;
  bridge.write(pci_space::memory_window,
               static_cast<std::uint32_t>((to.base >> 16 & 0xfff0) | (last >> 16 & 0xfff0) << 16));
  bridge.write(pci_space::prefetchable_window, closed_window);
  bridge.write(pci_space::prefetchable_base_above, 0);
  bridge.write(pci_space::prefetchable_limit_above, 0);
}

}  // namespace

void read_bars(const pci_space& of, pci_bar* bars, unsigned count) {
  const std::uint32_t command = of.read(pci_space::command) & 0xffff;
  of.set_command(pci_space::memory_decode, false);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned offset = pci_space::first_bar + 4 * i;
    pci_bar bar;
    const std::uint32_t low = of.read(offset);
    const bool is_memory = (low & 1) == 0;
    bar.wide = is_memory && (low >> 1 & 3) == 2 && i + 1 < count;
    of.write(offset, ~std::uint32_t{0});
    std::uint64_t writable = of.read(offset) & ~std::uint32_t{0xf};
    of.write(offset, low);
    bar.address = low & ~std::uint32_t{0xf};
    if (bar.wide) {
      const std::uint32_t high = of.read(offset + 4);
      of.write(offset + 4, ~std::uint32_t{0});
      writable |= std::uint64_t{of.read(offset + 4)} << 32;
      of.write(offset + 4, high);
      bar.address |= std::uint64_t{high} << 32;
    }
    if (is_memory) {
      bar.bytes = size_of(writable);
      bars[i] = bar;
    }
    if (bar.wide) ++i;
  }
  of.write(pci_space::command, command);
}

/// All of them in one block at the end of the window; the bridges on the way pass that on and
/// nothing else.
trouble pci_tree::assign(pci_function_place& to) const {
  std::uint64_t sum = 0, largest = bridge_unit;
  for (const pci_bar& bar : to.bars) {
    sum += bar.bytes;
    if (bar.bytes > largest) largest = bar.bytes;
  }
  sum = rounded_up(sum, bridge_unit);
  const std::uint64_t end = (host_.memory.base + host_.memory.bytes) / bridge_unit * bridge_unit;
  const std::uint64_t base = sum <= host_.memory.bytes ? (end - sum) / largest * largest : 0;
  if (host_.memory.bytes == 0)
    return {step, "the host bridge has no memory window",
            "say in find_pci() of this architecture which addresses it passes on",
            driver_error::no_resource};
  if (base < host_.memory.base || base == 0 || base + sum > std::uint64_t{1} << 32)
    return does_not_fit;
  // Nothing is decoded at addresses of which one half is changed (PCI Local Bus Specification 3.0,
  // 6.2.5.1); whoever asked for the adapter switches that on.
  to.decode(false);
  give_addresses(to.space, to.bars, to.most_bars, base);
  // From the adapter upwards: a bridge's own BARs lie below its window, in that of the next one.
  std::uint64_t below = base;
  for (unsigned i = to.depth; i-- > 0;) {
    open_window(to.bridges[i], {below, end - below});
    pci_bar own[bridge_bars];
    read_bars(to.bridges[i], own, bridge_bars);
    if (own[0].bytes + own[1].bytes == 0) continue;
    if (own[0].bytes + own[1].bytes > bridge_unit || below - bridge_unit < host_.memory.base)
      return does_not_fit;
    below -= bridge_unit;
    give_addresses(to.bridges[i], own, bridge_bars, below);
  }
  to.assigned_here = true;
  return {};
}

}  // namespace freehca::bare

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Looking for the adapter.
#include <freehca/bare/pci.hpp>

namespace freehca::bare {

namespace {

constexpr unsigned mellanox = 0x15b3;
constexpr unsigned devices = 32, functions = 8;

/// Physical functions that speak the command interface of this driver: Linux 6.1 main.c
/// mlx4_pci_table.
constexpr std::uint16_t adapters[] = {0x6340, 0x634a, 0x6354, 0x6732, 0x673c, 0x6368,
                                      0x6750, 0x6372, 0x675a, 0x6764, 0x6746, 0x676e,
                                      0x1003, 0x1005, 0x1006, 0x1007};

bool is_adapter(std::uint32_t identity) {
  if ((identity & 0xffff) != mellanox) return false;
  for (const std::uint16_t device : adapters)
    if (identity >> 16 == device) return true;
  return false;
}

constexpr const char* step = "looking for the adapter";

/// PCI Express Base Specification 3.0, 6.6.1: so long a function may take after reset until it
/// answers. What reads as "not yet" meanwhile: 2.3.2.
constexpr std::uint64_t time_to_answer = 1'000'000'000;
constexpr std::uint32_t not_yet = 0x0001;

}  // namespace

unsigned pci_space::capability(unsigned identifier) const {
  const auto byte = [this](unsigned offset) {
    return read(offset & 0xfc) >> offset % 4 * 8 & 0xff;
  };
  unsigned offset = byte(capabilities) & 0xfc;
  for (unsigned i = 0; i < 48 && offset >= 0x40; ++i, offset = byte(offset + 1) & 0xfc)
    if (byte(offset) == identifier) return offset;
  return 0;
}

void pci_function_place::decode(bool to) const {
  for (unsigned i = 0; i < depth; ++i)
    bridges[i].set_command(pci_space::memory_decode | pci_space::bus_master, to);
  space.set_command(pci_space::memory_decode, to);
}

pci_space pci_tree::at(unsigned bus, unsigned device, unsigned function) const {
  return pci_space(mapped_ + ((bus - host_.first_bus) << 20 | device << 15 | function << 12));
}

trouble pci_tree::find_adapter(bool anew, pci_function_place* to) {
  mapped_ = machine::map(host_.ecam.base, host_.ecam.bytes, caching::configuration);
  if (mapped_ == nullptr || buses() == 0)
    return {step, "configuration space cannot be mapped",
            "give the port larger page tables (map() of this architecture)",
            driver_error::no_memory};
  if (!search_for_a_while(*to)) {
    if (stranger_ != 0)
      return {step, "the adapter is of another generation: it is no ConnectX-2 or ConnectX-3",
              "its driver is another one (Linux: ib_mthca, or mlx5_core for ConnectX-4 on)",
              driver_error::unsupported};
    return {step,
            "there is no such adapter on any bus (vendor 15b3)",
            "reseat the card and look at the slot's power and link; in QEMU: -device mlx4",
            {}};
  }
  to->space.set_command(pci_space::bus_master, false);
  read_bars(to->space, to->bars, to->most_bars);
  bool has_addresses = true;
  for (const pci_bar& bar : to->bars)
    if (bar.bytes != 0 && bar.address == 0) has_addresses = false;
  if (to->bars[0].bytes == 0 || to->bars[2].bytes == 0)
    return {step, "the adapter has no memory behind BAR 0 or BAR 2",
            "its firmware is not running, or in recovery: burn it anew", driver_error::unsupported};
  if (!has_addresses && firmware_assigns_ && !anew)
    return {
        step, "firmware gave addresses to other functions and none to the adapter",
        "make room for its BARs in the firmware's set-up (large memory-mapped I/O), or put assign "
        "on the command line",
        driver_error::no_resource};
  if (!has_addresses || anew)
    if (const trouble why = assign(*to); !why.ok()) return why;
  to->space.set_command(pci_space::no_interrupt_pin, true);
  to->decode(true);
  return {};
}

bool pci_tree::search_for_a_while(pci_function_place& to) {
  const std::uint64_t began = machine::now();
  while (!search(host_.first_bus, to)) {
    if (machine::now() - began > time_to_answer) return false;
    // What is there the next time may need numbers in between.
    while (numbered_ != 0) numbered_bridges_[--numbered_].write(pci_space::buses, 0);
    last_bus_ = host_.first_bus;
  }
  return true;
}

bool pci_tree::search(unsigned bus, pci_function_place& to) {
  for (unsigned device = 0; device < devices; ++device) {
    const unsigned count = at(bus, device, 0).has_more_functions()
                               ? functions
                               : 1;  // all ones: has, and none is there
    for (unsigned function = 0; function < count; ++function)
      if (look_at(bus, device, function, to)) return true;
  }
  return false;
}

bool pci_tree::look_at(unsigned bus, unsigned device, unsigned function, pci_function_place& to) {
  const pci_space here = at(bus, device, function);
  const std::uint32_t identity = here.read(pci_space::identity);
  const std::uint32_t vendor = identity & 0xffff;
  if (vendor == 0xffff || vendor == 0 || vendor == not_yet) return false;
  if (here.is_bridge()) return look_behind(here, bus, to);
  if ((here.read(pci_space::command) & pci_space::memory_decode) != 0 &&
      (here.read(pci_space::first_bar) & ~0xfu) != 0)
    firmware_assigns_ = true;
  if (!is_adapter(identity)) {
    if ((identity & 0xffff) == mellanox) stranger_ = identity;
    return false;
  }
  to.space = here;
  to.bus = bus;
  to.device = device;
  to.function = function;
  return true;
}

/// A bridge that has no number yet passes all of them on while what is behind it is looked at.
bool pci_tree::look_behind(const pci_space& bridge, unsigned bus, pci_function_place& to) {
  if (to.depth == to.deepest) return false;
  const std::uint32_t before = bridge.read(pci_space::buses);
  unsigned secondary = before >> 8 & 0xff;
  const bool numbered = secondary != 0;
  const unsigned end = host_.first_bus + buses();
  if (!numbered) {
    if (last_bus_ + 1 >= end) return false;
    secondary = ++last_bus_;
    numbered_bridges_[numbered_++] = bridge;
    bridge.write(pci_space::buses, (before & 0xff00'0000) | 0xff'0000 | secondary << 8);
  }
  // Numbers rise on the way down; what does not keep to that leads in a circle.
  if (secondary <= bus || secondary >= end) return false;
  if (numbered && (before >> 16 & 0xff) > last_bus_) last_bus_ = before >> 16 & 0xff;
  to.bridges[to.depth++] = bridge;
  const bool found = search(secondary, to);
  if (!numbered)
    bridge.write(pci_space::buses, (before & 0xff00'0000) | last_bus_ << 16 | secondary << 8);
  if (!found) --to.depth;
  return found;
}

}  // namespace freehca::bare

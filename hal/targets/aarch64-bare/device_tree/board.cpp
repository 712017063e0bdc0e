// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The board, as its device tree says.
#include "board.hpp"

#include <initializer_list>

#include <freehca/device_tree/board.hpp>
#include <freehca/device_tree/tree.hpp>

#include "tables.hpp"

extern "C" {
extern const std::byte freehca_bare_memory_begin[], freehca_bare_console[];  // link.ld
}

namespace freehca::bare {
namespace {

device_tree::tree tree;
device_tree::board described;
status tree_found = driver_error::no_resource;
constexpr std::uint64_t console_bytes = 0x1000;

/// Entry `index` of a node's registers; of no bytes: it is not there.
window registers(const device_tree::node& n, unsigned index) {
  window w;
  return n.reg(index, w).ok() ? w : window();
}

bool find_gicv2(gic_registers* to) {
  for (const char* name : {"arm,cortex-a15-gic", "arm,gic-400", "arm,cortex-a7-gic"}) {
    device_tree::node n;
    if (!tree.find_compatible(name, n).ok()) continue;
    to->which = gic_registers::version::v2;
    to->distributor = registers(n, 0);
    to->interface = registers(n, 1);
    if (!tree.find_compatible("arm,gic-v2m-frame", n).ok()) return true;
    to->messages = registers(n, 0);
    to->first_message = n.cell("arm,msi-base-spi", 0);
    to->messages_count = n.cell("arm,msi-num-spis", 0);
    return true;
  }
  return false;
}

}  // namespace

void board::find_console(const std::byte* handed_over, device_tree::serial_line& to) noexcept {
  const std::byte* const places[] = {handed_over, freehca_bare_memory_begin};
  for (const std::byte* at : places) {
    if (at == nullptr || tree_found.ok()) continue;
    if (map_memory(reinterpret_cast<std::uintptr_t>(at), device_tree::tree::most_bytes))
      tree_found = tree.open(at);
  }
  // One that is not found swallows what it is given.
  if (tree_found.ok()) static_cast<void>(to.find(tree));
  else
    to.assume("arm,pl011", {reinterpret_cast<std::uintptr_t>(freehca_bare_console), console_bytes});
}

trouble board::read(std::uint64_t image) noexcept {
  if (!tree_found.ok())
    return {"reading the device tree",
            "the boot loader handed none over, in x0 or at the beginning of memory",
            "boot by Linux's protocol for arm64 (booti), or put it there", tree_found};
  return described.read(tree, image);
}

window board::memory() noexcept {
  return described.memory();
}

window board::kept() noexcept {
  return {reinterpret_cast<std::uintptr_t>(tree.whole().at), tree.whole().size};
}

const char* board::command_line() noexcept {
  return described.command_line();
}

std::uint64_t board::timer_rate() noexcept {
  return 0;
}

gic_registers board::gic() noexcept {
  gic_registers g;
  device_tree::node n;
  if (find_gicv2(&g) || !tree.find_compatible("arm,gic-v3", n).ok()) return g;
  g.which = gic_registers::version::v3;
  g.distributor = registers(n, 0);
  g.redistributors = registers(n, 1);
  if (tree.find_compatible("arm,gic-v3-its", n).ok()) g.messages = registers(n, 0);
  return g;
}

/// "method": Linux Documentation/devicetree/bindings/arm/psci.yaml.
firmware_calls board::psci() noexcept {
  device_tree::node n;
  for (const char* name : {"arm,psci-1.0", "arm,psci-0.2"}) {
    if (!tree.find_compatible(name, n).ok()) continue;
    if (n.property("method").is("smc")) return firmware_calls::by_monitor;
    if (n.property("method").is("hvc")) return firmware_calls::by_hypervisor;
    break;
  }
  return firmware_calls::none;
}

trouble board::find_pci(pci_host* to) noexcept {
  return described.find_pci(false, to);
}

}  // namespace freehca::bare

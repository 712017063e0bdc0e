// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The machine, as its device tree says: serial line, clock, memory, and how it is switched off.
#include <freehca/bare/machine.hpp>

#include <initializer_list>

#include <freehca/bare/image.hpp>
#include <freehca/device_tree/board.hpp>
#include <freehca/device_tree/serial.hpp>

#include "controller.hpp"
#include "interrupts.hpp"
#include "tables.hpp"

extern "C" {
extern const std::byte freehca_bare_memory_begin[], freehca_bare_console[];  // link.ld
}

namespace freehca::bare {
namespace {

device_tree::tree tree;
device_tree::board board;
device_tree::serial_line console;
status tree_found = driver_error::no_resource;
std::uint64_t ticks_a_second, memory_ends;
constexpr std::uint64_t console_bytes = 0x1000;
constexpr std::uint64_t level_3 = 0xc;  // CurrentEL
bool psci_by_monitor, psci_by_hypervisor;

void find_psci() {
  device_tree::node n;
  for (const char* name : {"arm,psci-1.0", "arm,psci-0.2"}) {
    if (!tree.find_compatible(name, n).ok()) continue;
    psci_by_monitor = n.property("method").is("smc");
    psci_by_hypervisor = n.property("method").is("hvc");
    return;
  }
}

/// For the ITS, from the end of memory, or from below the tree, which is still to be read. Null:
/// there is too little.
std::byte* take_tables(std::uint64_t image, std::uint64_t* end) {
  const auto tree_at = reinterpret_cast<std::uintptr_t>(tree.whole().at);
  std::uint64_t at = (*end - its_bytes) / its_bytes * its_bytes;
  if (tree_at < *end && tree_at + tree.whole().size > at)
    at = (tree_at - its_bytes) / its_bytes * its_bytes;
  if (at < image + its_bytes) return nullptr;
  auto* const tables = reinterpret_cast<std::byte*>(at);
  __builtin_memset(tables, 0, its_bytes);
  *end = at;
  return tables;
}

}  // namespace

const char machine::name[] = "aarch64";

void machine::put(char c) noexcept {
  console.put(c);
}

trouble machine::start() noexcept {
  constexpr const char* step = "starting the machine";
  if (!tree_found.ok())
    return {"reading the device tree",
            "the boot loader handed none over, in x0 or at the beginning of memory",
            "boot by Linux's protocol for arm64 (booti), or put it there", tree_found};
  std::uint64_t level = 0;
  __asm__("mrs %0, CurrentEL" : "=r"(level));
  if (level == level_3)
    return {step, "the image was started at exception level 3, which is the firmware's",
            "have firmware that stays there start it (Trusted Firmware-A); in QEMU: secure=off",
            driver_error::unsupported};
  const auto image = reinterpret_cast<std::uintptr_t>(freehca_bare_image_begin);
  if (const trouble why = board.read(tree, image); !why.ok()) return why;
  std::uint64_t end = board.memory().base + board.memory().bytes;
  if (!map_memory(image, end - image))
    return {step, "there is no room for memory in the page tables",
            "give the port larger ones (most_tables of tables.cpp)", driver_error::no_memory};
  __asm__("mrs %0, cntfrq_el0" : "=r"(ticks_a_second));
  if (ticks_a_second == 0)
    return {step, "the rate of the generic timer is not known: CNTFRQ_EL0 is 0",
            "have the firmware write it, as the Arm architecture asks", driver_error::unsupported};
  std::byte* tables = nullptr;
  device_tree::node n;
  if (tree.find_compatible("arm,gic-v3", n).ok()) tables = take_tables(image, &end);
  memory_ends = end;
  start_interrupts(tree, tables);
  return {};
}

std::uint64_t machine::now() noexcept {
  std::uint64_t ticks = 0;
  __asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  constexpr std::uint64_t second = 1'000'000'000;
  return ticks / ticks_a_second * second + ticks % ticks_a_second * second / ticks_a_second;
}

const char* machine::clock_text() noexcept {
  return "generic timer (CNTVCT_EL0) at the rate that CNTFRQ_EL0 tells";
}

std::uint64_t machine::memory_end() noexcept {
  return memory_ends;
}

const char* machine::command_line() noexcept {
  return board.command_line();
}

trouble machine::find_pci(pci_host* to) noexcept {
  return board.find_pci(false, to);
}

void machine::pause() noexcept {
  __asm__ __volatile__("yield" ::: "memory");
}

namespace {

/// PSCI: Arm DEN 0022, 5.1.9; its calls go to the secure monitor or to the hypervisor, as "method"
/// says (Linux Documentation/devicetree/bindings/arm/psci.yaml). Without either it waits for ever.
[[noreturn]] void switch_off() noexcept {
  register std::uint64_t function __asm__("x0") = 0x8400'0008;  // SYSTEM_OFF
  if (psci_by_monitor) __asm__ __volatile__("smc #0" : "+r"(function)::"memory");
  else if (psci_by_hypervisor) __asm__ __volatile__("hvc #0" : "+r"(function)::"memory");
  for (;;) __asm__ __volatile__("wfi");
}

}  // namespace

/// Asks a debugger, which QEMU is with -semihosting, to end the machine with a status that the
/// caller of QEMU sees (Semihosting for AArch32 and AArch64, Arm 2.0, 7.9 SYS_EXIT). Where there is
/// none, that instruction is an exception, and PSCI has no status.
void machine::stop(bool passed) noexcept {
  expect_no_debugger(switch_off);
  constexpr std::uint64_t application_exit = 0x20026;
  const std::uint64_t reason[] = {application_exit, passed ? 0u : 1u};
  register std::uint64_t operation __asm__("x0") = 0x18;
  register const std::uint64_t* block __asm__("x1") = reason;
  __asm__ __volatile__("msr daifset, #2; hlt #0xf000" : "+r"(operation) : "r"(block) : "memory");
  switch_off();
}

}  // namespace freehca::bare

/// From start.S, with what the boot loader had in x0.
extern "C" void freehca_bare_read_tree(const std::byte* handed_over) noexcept {
  using namespace freehca;
  using namespace freehca::bare;
  const std::byte* const places[] = {handed_over, freehca_bare_memory_begin};
  for (const std::byte* at : places) {
    if (at == nullptr || tree_found.ok()) continue;
    if (map_memory(reinterpret_cast<std::uintptr_t>(at), device_tree::tree::most_bytes))
      tree_found = tree.open(at);
  }
  if (!tree_found.ok()) {
    console.assume("arm,pl011",
                   {reinterpret_cast<std::uintptr_t>(freehca_bare_console), console_bytes});
  } else {
    find_psci();
    if (!console.find(tree).ok()) return;
  }
  const device_tree::window& w = console.registers();
  console.mapped(machine::map(w.base, w.bytes, caching::device));
}

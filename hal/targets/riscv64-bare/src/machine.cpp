// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The machine, as its device tree says: serial line, clock, memory, and how it is switched off.
#include <freehca/bare/machine.hpp>

#include <initializer_list>

#include <freehca/bare/image.hpp>
#include <freehca/device_tree/board.hpp>
#include <freehca/device_tree/serial.hpp>

#include "interrupts.hpp"

extern "C" {
extern const std::byte freehca_bare_console[];  // link.ld
}

namespace freehca::bare {
namespace {

constexpr std::uint64_t console_bytes = 0x100;

device_tree::tree tree;
device_tree::board board;
device_tree::serial_line console;
status tree_found = driver_error::no_resource;
std::uint64_t boot_hart;

const volatile std::uint64_t* ticks;  // null: the time register has them
std::uint64_t ticks_a_second;
volatile std::uint32_t* finisher;  // null: there is none

/// mtime in memory, which a hart without the register "time" has too: SiFive E31 manual v2p0,
/// chapter 6; ACLINT 1.0-rc4, 2.1.
void find_clock() {
  constexpr std::size_t mtime = 0xbff8;
  device_tree::node n;
  device_tree::window w;
  for (const char* name : {"sifive,clint0", "riscv,clint0"})
    if (tree.find_compatible(name, n).ok() && n.reg(0, w).ok() && w.bytes >= mtime + 8)
      ticks = reinterpret_cast<const volatile std::uint64_t*>(w.base + mtime);
  if (tree.find_compatible("riscv,aclint-mtimer", n).ok() && n.reg(0, w).ok())
    ticks = reinterpret_cast<const volatile std::uint64_t*>(w.base);
  for (device_tree::node cpus(tree); cpus.next().ok();)
    if (const std::uint32_t rate = cpus.cell("timebase-frequency", 0)) ticks_a_second = rate;
}

void find_finisher() {
  device_tree::node n;
  device_tree::window w;
  if (tree.find_compatible("sifive,test0", n).ok() && n.reg(0, w).ok())
    finisher = reinterpret_cast<volatile std::uint32_t*>(w.base);
}

}  // namespace

const char machine::name[] = "riscv64";

void machine::put(char c) noexcept {
  console.put(c);
}

bool machine::get(char* to) noexcept {
  return console.get(to);
}

trouble machine::start() noexcept {
  if (!tree_found.ok())
    return {"reading the device tree", "the boot loader handed none over in a1", "have it do so",
            tree_found};
  const auto image = reinterpret_cast<std::uintptr_t>(freehca_bare_image_begin);
  if (const trouble why = board.read(tree, image); !why.ok()) return why;
  find_clock();
  if (ticks_a_second == 0)
    return {"starting the machine", "the device tree does not say how fast mtime counts",
            "give /cpus a timebase-frequency", driver_error::unsupported};
  start_interrupts(tree, boot_hart);
  return {};
}

std::uint64_t machine::now() noexcept {
  std::uint64_t count = 0;
  if (ticks != nullptr) count = *ticks;
  else __asm__ __volatile__("rdtime %0" : "=r"(count)::"memory");
  constexpr std::uint64_t second = 1'000'000'000;
  return count / ticks_a_second * second + count % ticks_a_second * second / ticks_a_second;
}

const char* machine::clock_text() noexcept {
  return ticks != nullptr ? "mtime in memory, at the rate that the device tree tells"
                          : "the register time, at the rate that the device tree tells";
}

std::uint64_t machine::memory_end() noexcept {
  return board.memory().base + board.memory().bytes;
}

const char* machine::command_line() noexcept {
  return board.command_line();
}

trouble machine::find_pci(pci_host* to) noexcept {
  return board.find_pci(true, to);
}

/// Nothing is translated at machine level; an address is uncached because the platform says so of
/// it, and none combines writes.
std::byte* machine::map(std::uint64_t address, std::size_t, caching how) noexcept {
  return how != caching::write_combining ? reinterpret_cast<std::byte*>(address) : nullptr;
}

void machine::pause() noexcept {
  __asm__ __volatile__("" ::: "memory");
}

/// QEMU 7.2 hw/misc/sifive_test.c: QEMU ends with this status.
void machine::stop(bool passed) noexcept {
  constexpr std::uint32_t pass = 0x5555, fail_with_1 = 0x1'3333;
  __asm__ __volatile__("csrci mstatus, 0x8" ::: "memory");  // MIE
  if (finisher != nullptr) *finisher = passed ? pass : fail_with_1;
  for (;;) __asm__ __volatile__("wfi");
}

}  // namespace freehca::bare

/// From start.S, with what the boot loader had in a0 and a1.
extern "C" void freehca_bare_read_tree(std::uint64_t hart, const std::byte* blob) noexcept {
  using namespace freehca;
  using namespace freehca::bare;
  boot_hart = hart;
  tree_found = tree.open(blob);
  if (!tree_found.ok()) {
    console.assume("ns16550a",
                   {reinterpret_cast<std::uintptr_t>(freehca_bare_console), console_bytes});
  } else {
    find_finisher();
    if (!console.find(tree).ok()) return;
  }
  console.mapped(reinterpret_cast<std::byte*>(console.registers().base));
}

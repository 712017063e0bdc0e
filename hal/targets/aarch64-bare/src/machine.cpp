// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The machine, with what its board tells: serial line, clock, memory, and how it is switched off.
#include <freehca/bare/machine.hpp>

#include <freehca/bare/image.hpp>
#include <freehca/device_tree/serial.hpp>
#include <freehca/hal/cache.hpp>

#include "board.hpp"
#include "cache.hpp"
#include "controller.hpp"
#include "interrupts.hpp"
#include "tables.hpp"

namespace freehca::bare {
namespace {

device_tree::serial_line console;
std::uint64_t ticks_a_second, memory_ends;
constexpr std::uint64_t level_3 = 0xc;  // CurrentEL

/// For the ITS, from the end of memory, or from below what is still to be read. Null: there is
/// too little.
std::byte* take_tables(std::uint64_t image, std::uint64_t* end) {
  const window kept = board::kept();
  std::uint64_t at = (*end - its_bytes) / its_bytes * its_bytes;
  if (kept.bytes != 0 && kept.base < *end && kept.base + kept.bytes > at)
    at = (kept.base - its_bytes) / its_bytes * its_bytes;
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

bool machine::get(char* to) noexcept {
  return console.get(to);
}

trouble machine::start() noexcept {
  constexpr const char* step = "starting the machine";
  std::uint64_t level = 0;
  __asm__("mrs %0, CurrentEL" : "=r"(level));
  if (level == level_3)
    return {
        step, "the image was started at exception level 3, which is the firmware's",
        "have firmware that stays there start it (Trusted Firmware-A); in QEMU: secure=off where "
        "the machine knows it, or the file that is no ELF (.bin)",
        driver_error::unsupported};
  if (cache::is_maintained && !has_lines_of(cache_line))
    return {step, "a line of the data cache has not 64 bytes, to which structures are cut",
            "give the adapter memory that is not cached instead (docs/incoherent-dma.md)",
            driver_error::unsupported};
  const auto image = reinterpret_cast<std::uintptr_t>(freehca_bare_image_begin);
  if (const trouble why = board::read(image); !why.ok()) return why;
  std::uint64_t end = board::memory().base + board::memory().bytes;
  if (!map_memory(image, end - image))
    return {step, "there is no room for memory in the page tables",
            "give the port larger ones (most_tables of tables.cpp)", driver_error::no_memory};
  ticks_a_second = board::timer_rate();
  if (ticks_a_second == 0) __asm__("mrs %0, cntfrq_el0" : "=r"(ticks_a_second));
  if (ticks_a_second == 0)
    return {
        step, "the rate of the generic timer is not known: CNTFRQ_EL0 is 0",
        "have the firmware write it, as the Arm architecture asks, or give the board a timer_rate",
        driver_error::unsupported};
  const gic_registers gic = board::gic();
  std::byte* tables = nullptr;
  if (gic.which == gic_registers::version::v3) tables = take_tables(image, &end);
  memory_ends = end;
  start_interrupts(gic, tables);
  return {};
}

std::uint64_t machine::now() noexcept {
  std::uint64_t ticks = 0;
  __asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  constexpr std::uint64_t second = 1'000'000'000;
  return ticks / ticks_a_second * second + ticks % ticks_a_second * second / ticks_a_second;
}

const char* machine::clock_text() noexcept {
  return board::timer_rate() == 0
             ? "generic timer (CNTVCT_EL0) at the rate that CNTFRQ_EL0 tells"
             : "generic timer (CNTVCT_EL0) at the rate that the board's constants tell";
}

std::uint64_t machine::memory_end() noexcept {
  return memory_ends;
}

const char* machine::command_line() noexcept {
  return board::command_line();
}

trouble machine::find_pci(pci_host* to) noexcept {
  return board::find_pci(to);
}

void machine::pause() noexcept {
  __asm__ __volatile__("yield" ::: "memory");
}

namespace {

/// PSCI: Arm DEN 0022, 5.1.9; its calls go to the secure monitor or to the hypervisor. Without
/// either it waits for ever.
[[noreturn]] void switch_off() noexcept {
  const firmware_calls by = board::psci();
  register std::uint64_t function __asm__("x0") = 0x8400'0008;  // SYSTEM_OFF
  if (by == firmware_calls::by_monitor) __asm__ __volatile__("smc #0" : "+r"(function)::"memory");
  else if (by == firmware_calls::by_hypervisor)
    __asm__ __volatile__("hvc #0" : "+r"(function)::"memory");
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
extern "C" void freehca_bare_find_console(const std::byte* handed_over) noexcept {
  using namespace freehca::bare;
  board::find_console(handed_over, console);
  const window& w = console.registers();
  if (w.bytes != 0) console.mapped(machine::map(w.base, w.bytes, caching::device));
}

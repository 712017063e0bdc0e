// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What an architecture is, to the part of the bare-metal targets that is the same on all of them.
// hal/targets/ARCHITECTURE-bare defines all of it, and nothing else is asked of it but start-up
// code: that puts the stack pointer on freehca_bare_stack_high, clears .bss, and calls
// freehca_bare_entry() once, on one processor.
//
// CPU, PCI and memory have one space of addresses, and code runs where it is linked: the address of
// memory is what a device names it by.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>

#include <freehca/bare/trouble.hpp>

namespace freehca::bare {

/// Addresses from `base` on.
struct window {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
};

/// A PCI host bridge.
struct pci_host {
  window ecam;             ///< configuration space, 1 MiB for each bus from `first_bus` on
  unsigned first_bus = 0;  ///< below the bridge itself
  /// Addresses below 4 GiB that BARs may be given where no firmware gave them any; they are taken
  /// from its end.
  window memory;
};

/// What a function writes, and where, to interrupt.
struct message {
  std::uint64_t address = 0;
  std::uint32_t data = 0;
};

enum class caching : std::uint8_t {
  device,           ///< each access reaches the device as it stands, in order
  configuration,    ///< as device, and a write has ended before the next access begins
  write_combining,  ///< for BlueFlame: stores may be joined and come late
};

/// Vectors that message_for() knows, from 0 on.
inline constexpr unsigned most_messages = 16;

namespace machine {

/// "x86_64", "aarch64", "riscv64".
extern const char name[];

/// One byte to the serial line. It works from the first instruction of freehca_bare_entry() on, and
/// in interrupt handlers; it waits for the line, but not for ever.
void put(char c) noexcept;

/// One byte that has come by the serial line. False: none has; it does not wait. What came damaged,
/// or behind bytes that were lost because nobody took them in time, is given as '\0', as far as the
/// line still says so: a 16550 forgets it when put() asks for room. The line keeps 16 bytes or
/// fewer, which come in 1.4 ms at 115200 baud: call it in a loop.
bool get(char* to) noexcept;

/// The first call: clock, memory map, interrupts. Handlers of exceptions print what happened and
/// call fault().
trouble start() noexcept;

/// Nanoseconds on a clock that never goes back; from start() on.
std::uint64_t now() noexcept;
/// What the clock is, and how its rate is known.
const char* clock_text() noexcept;

/// Where the memory ends that the image lies in.
std::uint64_t memory_end() noexcept;
/// What was given to the image when it was started; empty when nothing was.
const char* command_line() noexcept;

trouble find_pci(pci_host* to) noexcept;

/// Makes addresses of devices reachable; what is mapped stays so, and may be mapped again in the
/// same way. Null: there is no room in the page tables, or the machine has no such caching.
std::byte* map(std::uint64_t address, std::size_t bytes, caching how) noexcept;

/// The message by which `requester` (bus << 8 | device << 3 | function) brings about
/// on_message(vector); from then on interrupts are let in. driver_error::unsupported: this machine
/// has no interrupts by messages, and event queues are polled.
result<message> message_for(unsigned vector, unsigned requester) noexcept;
/// How messages arrive, or why they do not.
const char* messages_text() noexcept;

/// Between two looks at something that takes time.
void pause() noexcept;

/// The end: of the machine where it has a way to be switched off, else of the processor's work.
[[noreturn]] void stop(bool passed) noexcept;

}  // namespace machine

// What the architecture calls.

/// From its interrupt handler, which has a stack of its own: a message has come.
void on_message(unsigned vector) noexcept;
/// From a handler of exceptions, when it has printed what it knows. The adapter is kept from
/// memory, if there is one by then.
[[noreturn]] void fault() noexcept;

}  // namespace freehca::bare

/// From its start-up code.
extern "C" [[noreturn]] void freehca_bare_entry() noexcept;

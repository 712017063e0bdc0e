// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the files of this architecture know of each other, and instructions.
#pragma once

#include <cstdint>

#include <freehca/bare/machine.hpp>

namespace freehca::bare::x86 {

inline void out8(std::uint16_t port, std::uint8_t value) {
  __asm__ __volatile__("outb %0, %1" ::"a"(value), "Nd"(port));
}
inline std::uint8_t in8(std::uint16_t port) {
  std::uint8_t value;
  __asm__ __volatile__("inb %1, %0" : "=a"(value) : "Nd"(port));
  return value;
}
inline std::uint64_t read_msr(std::uint32_t which) {
  std::uint32_t low, high;
  __asm__ __volatile__("rdmsr" : "=a"(low), "=d"(high) : "c"(which));
  return std::uint64_t{high} << 32 | low;
}
inline void write_msr(std::uint32_t which, std::uint64_t value) {
  __asm__ __volatile__("wrmsr" ::"c"(which), "a"(static_cast<std::uint32_t>(value)),
                       "d"(static_cast<std::uint32_t>(value >> 32))
                       : "memory");
}
struct identification {
  std::uint32_t a, b, c, d;
};
inline identification cpuid(std::uint32_t leaf) {
  identification i{};
  __asm__ __volatile__("cpuid" : "=a"(i.a), "=b"(i.b), "=c"(i.c), "=d"(i.d) : "a"(leaf), "c"(0));
  return i;
}

/// Sets the time stamp counter's rate.
trouble start_clock();
/// Exceptions are told from here on; messages are let in by message_for().
void start_interrupts();
/// Page attributes: makes the bit PWT alone mean write-combining.
void start_page_tables();

/// Memory of the machine, as the loader tells it.
struct memory_range {
  std::uint64_t base, bytes;
  std::uint32_t type;  ///< 1: memory that is free to use
};
/// False: there are not so many.
bool memory_range_at(unsigned i, memory_range* to);
/// Address of ACPI's root pointer; 0: the loader names none.
std::uint64_t acpi_root();

}  // namespace freehca::bare::x86

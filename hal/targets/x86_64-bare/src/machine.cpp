// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Start, the loader's description of the machine, and the end.
#include <freehca/bare/image.hpp>

#include "x86.hpp"

extern "C" {
std::uint32_t freehca_x86_start_info;  // an address, of start-up code
}

namespace freehca::bare {

namespace {

/// Xen's include/public/arch-x86/hvm/start_info.h.
struct start_info {
  std::uint32_t magic, version, flags, modules;
  std::uint64_t module_list, command_line, acpi_root;
  std::uint64_t memory_map;
  std::uint32_t memory_map_entries, reserved;
};
struct memory_map_entry {
  std::uint64_t base, bytes;
  std::uint32_t type, reserved;
};
constexpr std::uint32_t start_magic = 0x336e'c578;
constexpr std::uint32_t first_with_memory_map = 1;
constexpr std::uint32_t type_memory = 1;

// What start-up code has mapped.
constexpr std::uint64_t mapped_memory = std::uint64_t{1} << 30;

constexpr std::uint32_t cpu_is_virtual = 1u << 31;
/// QEMU's isa-debug-exit: the process ends with twice the value plus one.
constexpr std::uint16_t debug_exit = 0x501;
constexpr std::uint8_t exit_passed = 0x10, exit_failed = 0x11;

const start_info* info() {
  const auto* const i = reinterpret_cast<const start_info*>(std::uintptr_t{freehca_x86_start_info});
  return i != nullptr && i->magic == start_magic ? i : nullptr;
}

}  // namespace

const char machine::name[] = "x86_64";

bool x86::memory_range_at(unsigned i, memory_range* to) {
  const start_info* const from = info();
  if (from == nullptr || from->version < first_with_memory_map || i >= from->memory_map_entries)
    return false;
  const auto& entry = reinterpret_cast<const memory_map_entry*>(from->memory_map)[i];
  *to = {entry.base, entry.bytes, entry.type};
  return true;
}

std::uint64_t x86::acpi_root() {
  return info() != nullptr ? info()->acpi_root : 0;
}

trouble machine::start() noexcept {
  x86::start_interrupts();
  x86::start_page_tables();
  if (memory_end() == 0)
    return {"looking for memory", "the loader tells of no memory where the image is",
            "start the image by the PVH protocol, version 1 or later (QEMU: -kernel)",
            driver_error::unsupported};
  return x86::start_clock();
}

std::uint64_t machine::memory_end() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(freehca_bare_image_begin);
  x86::memory_range range;
  for (unsigned i = 0; x86::memory_range_at(i, &range); ++i) {
    if (range.type != type_memory || here < range.base || here - range.base >= range.bytes)
      continue;
    const std::uint64_t end = range.base + range.bytes;
    return end < mapped_memory ? end : mapped_memory;
  }
  return 0;
}

const char* machine::command_line() noexcept {
  const start_info* const from = info();
  return from != nullptr && from->command_line != 0
             ? reinterpret_cast<const char*>(from->command_line)
             : "";
}

void machine::pause() noexcept {
  __builtin_ia32_pause();
}

void machine::stop(bool passed) noexcept {
  // On other machines the port may be anything.
  if ((x86::cpuid(1).c & cpu_is_virtual) != 0)
    x86::out8(debug_exit, passed ? exit_passed : exit_failed);
  for (;;) __asm__ __volatile__("cli\n\thlt");
}

}  // namespace freehca::bare

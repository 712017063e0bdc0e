// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Four levels, pages of 2 MiB (Intel SDM volume 3, 4.5 and 11.12). Start-up code has mapped the
// first GiB, which is memory; devices are added below the same root as they are asked for.
#include "x86.hpp"

extern "C" {
// Root, its first table, the first GiB, and 12: firmware's tables, the local APIC and configuration
// space are in 3 GiB at most, the two BARs in a GiB each, of 512 GiB each (4 tables); 5 are spare.
constexpr unsigned freehca_x86_table_count = 15;
alignas(4096) [[gnu::section(".bss.page_tables")]] std::uint64_t
    freehca_x86_tables[freehca_x86_table_count][512];
}

namespace freehca::bare {

namespace {

constexpr std::uint64_t page = std::uint64_t{2} << 20;
constexpr std::uint64_t present = 1, writable = 2, write_through = 8, cache_disable = 16,
                        large = 0x80;
constexpr std::uint64_t addresses = 0x000f'ffff'ffff'f000;
constexpr std::uint32_t page_attributes = 0x277;
// As after reset, but for entry 1, which PWT alone selects: write-combining instead of
// write-through.
constexpr std::uint64_t attributes = 0x0007'0406'0007'0106;

unsigned tables_used = 3;

std::uint64_t* table_in(std::uint64_t& entry) {
  if ((entry & present) == 0) {
    if (tables_used == freehca_x86_table_count) return nullptr;
    entry =
        reinterpret_cast<std::uintptr_t>(freehca_x86_tables[tables_used++]) | present | writable;
  }
  return reinterpret_cast<std::uint64_t*>(entry & addresses);
}

bool map_page(std::uint64_t at, std::uint64_t flags) {
  std::uint64_t* table = table_in(freehca_x86_tables[0][at >> 39 & 0x1ff]);
  if (table != nullptr) table = table_in(table[at >> 30 & 0x1ff]);
  if (table == nullptr) return false;
  std::uint64_t& entry = table[at >> 21 & 0x1ff];
  // Memory stays cached, and firmware's tables in it can be read so.
  if ((entry & present) != 0 && (entry & (cache_disable | write_through)) == 0) return true;
  entry = at | present | writable | large | flags;
  __asm__ __volatile__("invlpg (%0)" ::"r"(at) : "memory");
  return true;
}

}  // namespace

void x86::start_page_tables() {
  write_msr(page_attributes, attributes);
}

std::byte* machine::map(std::uint64_t address, std::size_t bytes, caching how) noexcept {
  const std::uint64_t end = address + bytes;
  if (bytes == 0 || end < address || end > std::uint64_t{1} << 47) return nullptr;
  const bool combining = how == caching::write_combining;
  // A neighbour in the same page would be combined too.
  if (combining && (address % page != 0 || end % page != 0)) return nullptr;
  for (std::uint64_t at = address / page * page; at < end; at += page)
    if (!map_page(at, combining ? write_through : cache_disable | write_through)) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace freehca::bare

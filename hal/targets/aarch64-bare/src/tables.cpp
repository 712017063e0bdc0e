// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Page tables: 48 bits, pages of 4 KiB, blocks of 2 MiB and 1 GiB; what is reachable is so at its
// own address. Formats: Arm ARM DDI 0487, D8.3. start.S makes the first three tables and has the
// image in them.
#include "tables.hpp"

#include <freehca/bare/machine.hpp>

namespace freehca::bare {
namespace {

constexpr unsigned entries = 512;
constexpr unsigned most_tables = 8;
constexpr std::uint64_t block_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t large_block_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t top_entry_bytes = std::uint64_t{512} << 30;

constexpr std::uint64_t is_table = 3;
constexpr std::uint64_t kind_bits = 3, table_address = 0x0000'ffff'ffff'f000;
/// Blocks, which nothing is executed from. Their memory type is an index into MAIR_EL1, which
/// start.S sets: 0 write-back (0xff), 1 Device-nGnRE (0x04), 2 non-cacheable (0x44), 3
/// Device-nGnRnE (0x00), where the device itself ends a write and nothing on the way to it does:
/// writes of configuration space are not posted (PCI Local Bus Specification 3.0, 3.2.5; Linux 6.1
/// include/linux/io.h pci_remap_cfgspace, arch/arm64/include/asm/io.h ioremap_np).
constexpr std::uint64_t type_bits = 0x1c;
constexpr std::uint64_t memory = 0x0060'0000'0000'0701;
constexpr std::uint64_t device = 0x0060'0000'0000'0405;
constexpr std::uint64_t not_posted = 0x0060'0000'0000'040d;
constexpr std::uint64_t uncached = 0x0060'0000'0000'0709;

}  // namespace
}  // namespace freehca::bare

extern "C" {
[[gnu::section(".bss.page_tables")]] alignas(4096) std::uint64_t
    freehca_bare_tables[freehca::bare::most_tables][freehca::bare::entries];
}

namespace freehca::bare {
namespace {

unsigned tables_used = 3;

/// An entry that was in use goes through "invalid" (D8.14.1, break-before-make).
void set(std::uint64_t* entry, std::uint64_t to) {
  auto* const at = static_cast<volatile std::uint64_t*>(entry);
  if (*at != 0) {
    *at = 0;
    __asm__ __volatile__("dsb ishst; tlbi vmalle1; dsb ish; isb" ::: "memory");
  }
  *at = to;
  __asm__ __volatile__("dsb ishst; isb" ::: "memory");
}

/// The table below an entry; a new one where there was nothing. Null: the entry is a block, or
/// there are no more tables.
std::uint64_t* below(std::uint64_t* entry) {
  if (*entry == 0) {
    if (tables_used == most_tables) return nullptr;
    set(entry, reinterpret_cast<std::uintptr_t>(freehca_bare_tables[tables_used++]) | is_table);
  }
  if ((*entry & kind_bits) != is_table) return nullptr;
  return reinterpret_cast<std::uint64_t*>(*entry & table_address);
}

bool is_memory(std::uint64_t block) {
  return block != 0 && (block & type_bits) == (memory & type_bits);
}

bool map_blocks(std::uint64_t address, std::uint64_t bytes, std::uint64_t attributes) {
  const std::uint64_t end = (address + bytes + block_bytes - 1) / block_bytes * block_bytes;
  std::uint64_t at = address / block_bytes * block_bytes;
  if (end < at || end > entries * top_entry_bytes) return false;
  while (at < end) {
    std::uint64_t* const middle = below(&freehca_bare_tables[0][at / top_entry_bytes]);
    if (middle == nullptr) return false;
    std::uint64_t* entry = &middle[at / large_block_bytes % entries];
    const bool is_large = (*entry & kind_bits) != is_table && at % large_block_bytes == 0 &&
                          end - at >= large_block_bytes;
    if (!is_large) {
      std::uint64_t* const lowest = below(entry);
      if (lowest == nullptr) return false;
      entry = &lowest[at / block_bytes % entries];
    }
    // Memory stays what it is: of one address there must not be both.
    if (*entry != 0 && is_memory(*entry) != is_memory(attributes)) return false;
    if (!is_memory(*entry)) set(entry, at | attributes);
    at += is_large ? large_block_bytes : block_bytes;
  }
  return true;
}

}  // namespace

bool map_memory(std::uint64_t address, std::uint64_t bytes) noexcept {
  return map_blocks(address, bytes, memory);
}

std::byte* machine::map(std::uint64_t address, std::size_t bytes, caching how) noexcept {
  const bool combines = how == caching::write_combining;
  // What shares a block with a BlueFlame page may need each access as it stands.
  if (combines && (address % block_bytes != 0 || bytes % block_bytes != 0)) return nullptr;
  const std::uint64_t attributes = combines                        ? uncached
                                   : how == caching::configuration ? not_posted
                                                                   : device;
  if (!map_blocks(address, bytes, attributes)) return nullptr;
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace freehca::bare

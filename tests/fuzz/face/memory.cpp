// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "../check.hpp"

namespace freehca::fuzz {

namespace {

// A message has at most 4 GiB.
constexpr std::size_t unmapped_bytes = std::size_t{16} << 30;
constexpr std::size_t all_bytes = program_memory::open_bytes + 7 * program_memory::area_bytes;
constexpr std::string_view of_fence = "fence...", of_vault = "vault:73", of_read_only = "readonly",
                           of_stale = "stale!29";

void fill(std::byte* at, std::size_t bytes, std::string_view with) {
  for (std::size_t i = 0; i < bytes; i += with.size())
    std::memcpy(at + i, with.data(), with.size());
}

bool is_filled(const std::byte* at, std::size_t bytes, std::string_view with) {
  for (std::size_t i = 0; i < bytes; i += with.size())
    if (std::memcmp(at + i, with.data(), with.size()) != 0) return false;
  return true;
}

}  // namespace

program_memory& program_memory::get() {
  static auto& one = *new program_memory;
  return one;
}

program_memory::program_memory() {
  void* const reserved = mmap(nullptr, 2 * unmapped_bytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(reserved != MAP_FAILED, "no addresses are left");
  base_ = static_cast<std::byte*>(reserved) + unmapped_bytes;
  check(mprotect(base_, all_bytes, PROT_READ | PROT_WRITE) == 0, "no memory is left");
  fill(base_ + open_bytes, all_bytes - open_bytes, of_fence);
  fill(vault(), area_bytes, of_vault);
  fill(read_only(), area_bytes, of_read_only);
  fill(stale(), area_bytes, of_stale);
}

void program_memory::renew() {
  std::memset(open(), 0, open_bytes);
  std::memset(narrow(), 0, narrow_bytes);
}

void program_memory::check_untouched() const {
  check(is_filled(vault(), area_bytes, of_vault), "memory of another domain was written");
  check(is_filled(read_only(), area_bytes, of_read_only), "a read-only region was written");
  check(is_filled(stale(), area_bytes, of_stale), "memory without a region was written");
  const auto check_fence = [](const std::byte* at, std::size_t bytes) {
    check(is_filled(at, bytes, of_fence), "memory behind a region was written");
  };
  for (unsigned i = 0; i < 6; i += 2) check_fence(open() + open_bytes + i * area_bytes, area_bytes);
  const std::byte* const behind = narrow() + narrow_bytes;
  check_fence(open() + open_bytes + 6 * area_bytes, 1024);
  check_fence(behind, static_cast<std::size_t>(open() + all_bytes - behind));
  const std::string_view all(reinterpret_cast<const char*>(open()), open_bytes);
  // A part of a message may be moved, from any byte on.
  check(all.find(of_vault) == all.npos, "memory of another domain was read");
  check(all.find(of_stale) == all.npos, "memory without a region was read");
  check(all.find(of_fence) == all.npos, "memory behind a region was read");
}

std::uint64_t program_memory::address(input& from) const {
  const unsigned which = from.byte();
  const std::uint64_t offset = from.byte() * 16u + which / 16 % 2;
  const auto in = [&](const std::byte* area) {
    return reinterpret_cast<std::uintptr_t>(area) + offset;
  };
  switch (which % 16) {
    case 0:
      return in(vault());
    case 1:
      return in(read_only());
    case 2:
      return in(stale());
    case 3:
      return in(open()) + open_bytes - area_bytes;  // near its end
    case 4:
      return in(open() + all_bytes);  // not mapped
    case 5:
      return in(open()) - (std::uint64_t{1} << 32);
    case 6:
      return offset;
    case 7:
      return 0xffff'8880'0000'0000 + offset;
    case 8:
      return 0x0000'8000'0000'0000 - offset;
    case 10:
      return in(narrow()) - 64 - offset % 8;
    case 9:
      return ~std::uint64_t{0} - offset;
    default:
      return in(open()) + which / 32 % 8 * area_bytes;
  }
}

bool program_memory::is_unmapped(std::uint64_t at, std::uint64_t bytes) const {
  constexpr std::uint64_t first_of_kernel = std::uint64_t{1} << 63, first_of_programs = 1 << 16;
  const auto areas = reinterpret_cast<std::uintptr_t>(base_);
  const auto is_within = [&](std::uint64_t first, std::uint64_t last) {
    return at >= first && at < last && bytes <= last - at;
  };
  return at >= first_of_kernel || is_within(0, first_of_programs) ||
         is_within(areas - unmapped_bytes, areas) ||
         is_within(areas + all_bytes, areas + unmapped_bytes);
}

std::byte* program_memory::open_place(input& from, std::size_t bytes) const {
  const std::size_t most = open_bytes - std::min(bytes, open_bytes);
  return open() + std::min<std::size_t>(from.byte() * 64u, most);
}

}  // namespace freehca::fuzz

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Cache maintenance by address to the point of coherency (Arm DDI 0487, D7.5).
#include "cache.hpp"

#include <freehca/hal/cache.hpp>

namespace freehca::bare {

bool has_lines_of(std::size_t bytes) noexcept {
  constexpr std::uint64_t word = 4;
  std::uint64_t type = 0;
  __asm__("mrs %0, ctr_el0" : "=r"(type));
  // DminLine is the shortest line, CWG the most that is written back at once; 0: it is not known.
  const std::uint64_t shortest = type >> 16 & 0xf, longest = type >> 24 & 0xf;
  return word << shortest == bytes && (longest == 0 || word << longest == bytes);
}

}  // namespace freehca::bare

#ifdef FREEHCA_INCOHERENT_DMA
namespace freehca::cache {
namespace {

template <class Each>
void each_line(const std::byte* at, std::size_t bytes, Each&& each) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at) / bare::cache_line * bare::cache_line;
  const auto end = reinterpret_cast<std::uintptr_t>(at) + bytes;
  for (std::uintptr_t line = begin; line < end; line += bare::cache_line) each(line);
  __asm__ __volatile__("dsb sy" ::: "memory");
}

}  // namespace

void clean(const std::byte* at, std::size_t bytes) noexcept {
  each_line(at, bytes, [](std::uintptr_t line) {
    __asm__ __volatile__("dc cvac, %0" ::"r"(line) : "memory");
  });
}

void invalidate(const std::byte* at, std::size_t bytes) noexcept {
  each_line(at, bytes, [](std::uintptr_t line) {
    // Cleans too, which changes nothing where it is needed, as no line is dirty then; where devices
    // do see a cache, and left a dirty line in it, their data stay.
    __asm__ __volatile__("dc civac, %0" ::"r"(line) : "memory");
  });
}

}  // namespace freehca::cache
#endif

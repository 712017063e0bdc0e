// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The memory comes from the kernel. The address sanitizer marks each page of a calloc() as given
// out and later as taken back, which took most of the time of most tests. An access past an end
// still ends a test.
#include "zeroed_memory.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace freehca::model::test {

namespace {

constexpr std::size_t fence = 4096;  // An access to these bytes before or behind ends the test.
constexpr std::size_t huge_page = 2u << 20;

std::size_t whole(std::size_t bytes) {
  return (bytes + fence - 1) / fence * fence + 2 * fence;
}

/// Address space of `bytes` bytes without access, behind whose fence a huge page begins.
std::byte* reserve(std::size_t bytes) {
  const std::size_t room = bytes + huge_page;
  void* const at = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) __builtin_trap();
  std::byte* const begin = static_cast<std::byte*>(at);
  const std::size_t inside = reinterpret_cast<std::uintptr_t>(begin + fence) % huge_page;
  const std::size_t before = (huge_page - inside) % huge_page;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + bytes, huge_page - before);
  return begin + before;
}

}  // namespace

std::byte* zeroed_memory::take(std::size_t bytes) {
  std::byte* const first = reserve(whole(bytes)) + fence;
  const std::size_t inside = whole(bytes) - 2 * fence;
  if (inside != 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) __builtin_trap();
  // The model writes a pattern into all memory that is lent to it. Most of the time of most tests
  // was spent in page faults there. A kernel without huge pages refuses the request, which does no
  // harm.
  static_cast<void>(madvise(first, inside, MADV_HUGEPAGE));
  return first;
}

void zeroed_memory::give_back(std::byte* first, std::size_t bytes) {
  munmap(first - fence, whole(bytes));
}

}  // namespace freehca::model::test

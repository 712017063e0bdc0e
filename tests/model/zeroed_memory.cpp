// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// From the kernel: for calloc() the address sanitizer marks every page as given out, and again as
// taken back, which took most of the time of most tests. An access past an end still stops a test.
#include "zeroed_memory.hpp"

#include <sys/mman.h>

namespace freehca::model::test {

namespace {

constexpr std::size_t fence = 4096;  // bytes in front and behind that stop who touches them

std::size_t whole(std::size_t bytes) {
  return (bytes + fence - 1) / fence * fence + 2 * fence;
}

}  // namespace

std::byte* zeroed_memory::take(std::size_t bytes) {
  void* const at = mmap(nullptr, whole(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) __builtin_trap();
  std::byte* const first = static_cast<std::byte*>(at) + fence;
  const std::size_t inside = whole(bytes) - 2 * fence;
  if (inside != 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) __builtin_trap();
  return first;
}

void zeroed_memory::give_back(std::byte* first, std::size_t bytes) {
  munmap(first - fence, whole(bytes));
}

}  // namespace freehca::model::test

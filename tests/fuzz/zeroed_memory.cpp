// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The memory of a fuzzed model's host. By calloc(), which the arena of a kept machine serves: what
// an input writes there is taken back with the rest of the machine. Pages that come straight from
// the kernel would carry it into the next input.
#include "../model/zeroed_memory.hpp"

#include <cstdlib>

namespace freehca::model::test {

std::byte* zeroed_memory::take(std::size_t bytes) {
  void* const first = std::calloc(bytes, 1);
  if (first == nullptr) __builtin_trap();
  return static_cast<std::byte*>(first);
}

void zeroed_memory::give_back(std::byte* first, std::size_t) {
  std::free(first);
}

}  // namespace freehca::model::test

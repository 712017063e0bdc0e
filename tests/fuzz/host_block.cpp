// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The DMA memory of the fuzzed driver. calloc() allocates from the arena of a kept machine, which
// restores the memory after each input. Pages from the kernel would carry the writes of one input
// into the next one.
#include "../../hal/targets/in_process/src/host_block.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace freehca::in_process::host_block {

std::byte* allocate(std::size_t bytes, std::size_t alignment) {
  auto* const whole = static_cast<std::byte*>(std::calloc(bytes + alignment + sizeof(void*), 1));
  if (whole == nullptr) throw std::bad_alloc();
  const auto past = reinterpret_cast<std::uintptr_t>(whole + sizeof whole) % alignment;
  std::byte* const block = whole + sizeof whole + (past == 0 ? 0 : alignment - past);
  std::memcpy(block - sizeof whole, &whole, sizeof whole);
  return block;
}

void free(std::byte* block) {
  std::byte* whole = nullptr;
  std::memcpy(&whole, block - sizeof whole, sizeof whole);
  std::free(whole);
}

}  // namespace freehca::in_process::host_block

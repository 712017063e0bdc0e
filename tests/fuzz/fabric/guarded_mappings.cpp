// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Puts guard pages around each mapping of a fabric's file, by its size. The kernel places mappings
// side by side: an access behind the end of a ring would else read another ring, unseen. The linker
// leads calls of mmap() and munmap() here (--wrap).
#include <sys/mman.h>

#include <cstddef>

#include "fabric_layout.hpp"

// The linker gives these names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __real_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset);
int __real_munmap(void* at, std::size_t bytes);
void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset);
int __wrap_munmap(void* at, std::size_t bytes);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

// A ring_word has positions up to 128 MiB behind the ring's first byte.
constexpr std::size_t guard = std::size_t{256} << 20;

bool is_of_fabric(std::size_t bytes) {
  return bytes == freehca::wires::shm::ring_bytes || bytes == freehca::wires::shm::control_bytes;
}

}  // namespace

void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset) {
  if (at != nullptr || file < 0 || !is_of_fabric(bytes))
    return __real_mmap(at, bytes, access, flags, file, offset);
  void* const reserved = __real_mmap(nullptr, bytes + 2 * guard, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  return __real_mmap(static_cast<std::byte*>(reserved) + guard, bytes, access, flags | MAP_FIXED,
                     file, offset);
}

int __wrap_munmap(void* at, std::size_t bytes) {
  if (!is_of_fabric(bytes)) return __real_munmap(at, bytes);
  return __real_munmap(static_cast<std::byte*>(at) - guard, bytes + 2 * guard);
}

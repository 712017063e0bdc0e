// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "host_block.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace freehca::in_process::host_block {

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = 2u << 20;
// Blocks of at least this size come from the kernel. The address sanitizer marks each byte of a
// block of the heap as given out and as taken back. For the memory of a device that was most of the
// time of a test.
constexpr std::size_t from_kernel = 1u << 20;

// Stands directly before the bytes of a block.
struct block_header {
  void* whole;       // what calloc() or mmap() returned
  std::size_t room;  // bytes of mmap(); 0: the block is of calloc()
};

std::byte* align(std::byte* p, std::size_t alignment) {
  const auto past = reinterpret_cast<std::uintptr_t>(p) % alignment;
  return p + (past == 0 ? 0 : alignment - past);
}

std::byte* with_header(std::byte* block, const block_header& header) {
  std::memcpy(block - sizeof header, &header, sizeof header);
  return block;
}

// The pages that are not touched cost nothing.
std::byte* allocate_from_heap(std::size_t bytes, std::size_t alignment) {
  void* const whole = std::calloc(bytes + alignment + sizeof(block_header), 1);
  if (whole == nullptr) throw std::bad_alloc();
  std::byte* const begin = static_cast<std::byte*>(whole) + sizeof(block_header);
  return with_header(align(begin, alignment), {whole, 0});
}

// The page before the block has the header. The pages before the header and behind the block cannot
// be accessed.
std::byte* allocate_from_kernel(std::size_t bytes, std::size_t alignment) {
  const std::size_t inside = (bytes + page - 1) / page * page;
  const std::size_t room = inside + 3 * page + std::max(alignment, huge_page);
  void* const whole =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) throw std::bad_alloc();
  std::byte* const block =
      align(static_cast<std::byte*>(whole) + 2 * page, std::max(alignment, huge_page));
  if (mprotect(block - page, page + inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(whole, room);
    throw std::bad_alloc();
  }
  // Page faults of 4 KiB take longer than what a test does. A kernel without huge pages refuses the
  // request, which does no harm.
  static_cast<void>(madvise(block, inside, MADV_HUGEPAGE));
  return with_header(block, {whole, room});
}

}  // namespace

std::byte* allocate(std::size_t bytes, std::size_t alignment) {
  return bytes < from_kernel ? allocate_from_heap(bytes, alignment)
                             : allocate_from_kernel(bytes, alignment);
}

void free(std::byte* block) {
  block_header header;
  std::memcpy(&header, block - sizeof header, sizeof header);
  if (header.room == 0) {
    std::free(header.whole);
  } else {
    munmap(header.whole, header.room);
  }
}

}  // namespace freehca::in_process::host_block

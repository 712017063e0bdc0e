// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "dma_pages.hpp"

#include <linux/mman.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>

namespace freehca::vfio_host {

std::byte* map_pages(memory_pages pages, std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  const bool large = has_large_pages(pages, bytes);
  const bool advised = large && pages == memory_pages::advised;
  const int more = large && !advised ? MAP_HUGETLB | MAP_HUGE_2MB : 0;
  // Kernels before 6.7 do not align such a mapping, so there is room to align it here.
  const std::size_t room = advised ? bytes + huge_page : bytes;
  void* const made = mmap(nullptr, room, PROT_READ | PROT_WRITE, flags | more, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(made);
  if (!advised) return first;
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(first)) % huge_page;
  if (before != 0) munmap(first, before);
  munmap(first + before + bytes, huge_page - before);
  // A kernel without transparent huge pages refuses the advice, and small pages do as well.
  static_cast<void>(madvise(first + before, bytes, MADV_HUGEPAGE));
  return first + before;
}

std::string how_to_have_pages(memory_pages pages, std::size_t bytes, int error) {
  if (error != ENOMEM || pages != memory_pages::huge || !has_large_pages(pages, bytes)) return {};
  return fmt::format(
      "; {0} huge pages of 2 MiB are needed and not free; reserve them: "
      "echo $(($(cat {1}) + {0})) > {1}",
      bytes / huge_page, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
}

}  // namespace freehca::vfio_host

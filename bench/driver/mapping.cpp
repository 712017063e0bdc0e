// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "mapping.hpp"

#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

namespace freehca::bench {
namespace {

const idler* counting = nullptr;
std::uint64_t in_mapping = 0;

/// Makes a system call. If it `maps`, its instructions are counted.
long call(bool maps, long number, auto... arguments) {
  if (counting == nullptr || !maps) return syscall(number, arguments...);
  const std::uint64_t began = counting->others();
  const long outcome = syscall(number, arguments...);
  in_mapping += counting->others() - began;
  return outcome;
}

}  // namespace

void count_mapping(const idler& idle) {
  counting = &idle;
}

std::uint64_t executed_in_mapping() {
  return in_mapping;
}

}  // namespace freehca::bench

extern "C" int ioctl(int file, unsigned long request, ...) noexcept {
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  const bool maps = request == VFIO_IOMMU_MAP_DMA || request == VFIO_IOMMU_UNMAP_DMA;
  return static_cast<int>(freehca::bench::call(maps, SYS_ioctl, file, request, argument));
}

extern "C" int madvise(void* first, std::size_t bytes, int advice) noexcept {
  const bool maps = advice == MADV_DONTFORK || advice == MADV_DOFORK;
  return static_cast<int>(freehca::bench::call(maps, SYS_madvise, first, bytes, advice));
}

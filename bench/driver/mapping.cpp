// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "mapping.hpp"

#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

namespace freehca::bench {
namespace {

const idler* counting = nullptr;
std::uint64_t in_mapping = 0;

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
  using namespace freehca::bench;
  const bool maps = request == VFIO_IOMMU_MAP_DMA || request == VFIO_IOMMU_UNMAP_DMA;
  if (counting == nullptr || !maps)
    return static_cast<int>(syscall(SYS_ioctl, file, request, argument));
  const std::uint64_t began = counting->others();
  const long outcome = syscall(SYS_ioctl, file, request, argument);
  in_mapping += counting->others() - began;
  return static_cast<int>(outcome);
}

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Definitions that this program uses in place of those of the C library. Calls inside of the C
// library do not come here.
#include "system_calls.hpp"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>

#include <gtest/gtest.h>

#include "fake_vfio.hpp"

namespace freehca::testing {
namespace {

system_calls* now = nullptr;

/// The requests of VFIO, and an errno that Linux 6.1 gives for each (vfio_main.c, vfio_pci_core.c,
/// vfio_iommu_type1.c).
struct {
  unsigned long number;
  const char* name;
  int error;
} constexpr requests[] = {
    {VFIO_GET_API_VERSION, "VFIO_GET_API_VERSION", ENOTTY},
    {VFIO_CHECK_EXTENSION, "VFIO_CHECK_EXTENSION", EINVAL},
    {VFIO_GROUP_GET_STATUS, "VFIO_GROUP_GET_STATUS", ENODEV},
    {VFIO_GROUP_SET_CONTAINER, "VFIO_GROUP_SET_CONTAINER", EINVAL},
    {VFIO_SET_IOMMU, "VFIO_SET_IOMMU", ENODEV},
    {VFIO_IOMMU_GET_INFO, "VFIO_IOMMU_GET_INFO", ENOMEM},
    {VFIO_GROUP_GET_DEVICE_FD, "VFIO_GROUP_GET_DEVICE_FD", ENODEV},
    {VFIO_DEVICE_GET_INFO, "VFIO_DEVICE_GET_INFO", EFAULT},
    {VFIO_DEVICE_GET_REGION_INFO, "VFIO_DEVICE_GET_REGION_INFO", ENOMEM},
    {VFIO_DEVICE_GET_IRQ_INFO, "VFIO_DEVICE_GET_IRQ_INFO", EFAULT},
    {VFIO_DEVICE_SET_IRQS, "VFIO_DEVICE_SET_IRQS", ENOMEM},
    {VFIO_DEVICE_RESET, "VFIO_DEVICE_RESET", EAGAIN},
    {VFIO_IOMMU_MAP_DMA, "VFIO_IOMMU_MAP_DMA", ENOMEM},
    {VFIO_IOMMU_UNMAP_DMA, "VFIO_IOMMU_UNMAP_DMA", EINVAL},
    // Linux 6.12 device_cdev.c, iommufd/device.c, iommufd/ioas.c
    {vfio_host::iommufd::bind_iommufd, "VFIO_DEVICE_BIND_IOMMUFD", ENOMEM},
    {vfio_host::iommufd::attach_pt, "VFIO_DEVICE_ATTACH_IOMMUFD_PT", ENOMEM},
    {vfio_host::iommufd::ioas_alloc, "IOMMU_IOAS_ALLOC", ENOMEM},
    {vfio_host::iommufd::ioas_iova_ranges, "IOMMU_IOAS_IOVA_RANGES", EFAULT},
    {vfio_host::iommufd::ioas_map, "IOMMU_IOAS_MAP", ENOMEM},
    {vfio_host::iommufd::ioas_unmap, "IOMMU_IOAS_UNMAP", EBUSY},
};

}  // namespace

system_calls::system_calls() {
  now = this;
}

system_calls::~system_calls() {
  now = nullptr;
}

system_calls* system_calls::current() {
  return now;
}

void system_calls::fail(std::size_t first, std::size_t count) {
  made_.clear();
  refused_.clear();
  first_ = first;
  count_ = count;
}

void system_calls::refuse(const std::string& name, int error) {
  refused_[name] = error;
}

bool system_calls::fails(const std::string& name, int error) {
  const std::size_t at = made_.size();
  made_.push_back({name, error});
  const auto refused = refused_.find(name);
  if (refused != refused_.end()) made_.back().error = refused->second;
  else if (at < first_ || at - first_ >= count_) return false;
  errno = made_.back().error;
  return true;
}

int system_calls::opened(int descriptor) {
  if (descriptor >= 0) descriptors_.insert(descriptor);
  return descriptor;
}

void* system_calls::mapped(void* at, std::size_t bytes) {
  if (at != MAP_FAILED) mappings_[at] = bytes;
  return at;
}

void system_calls::unmapped(void* at, std::size_t bytes) {
  const auto found = mappings_.find(at);
  ASSERT_NE(found, mappings_.end()) << "a mapping that there is not";
  EXPECT_EQ(found->second, bytes);
  mappings_.erase(found);
  const fake_vfio* const kernel = fake_vfio::current();
  if (kernel != nullptr && kernel->function_open() && kernel->has_mapped(at, bytes)) ++taken_;
}

namespace {

bool fails(const char* name, int error) {
  return now != nullptr && now->fails(name, error);
}

int opened(int descriptor) {
  return now != nullptr ? now->opened(descriptor) : descriptor;
}

/// The bytes that one call moves.
std::size_t moved(int descriptor, std::size_t bytes) {
  const fake_vfio* const kernel = fake_vfio::current();
  return kernel != nullptr && kernel->has(descriptor) ? std::min(bytes, kernel->most_moved) : bytes;
}

}  // namespace
}  // namespace freehca::testing

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0u;
  va_end(more);
  using namespace freehca::testing;
  if (fails(path, EMFILE)) return -1;
  if (fake_vfio* const kernel = fake_vfio::current(); kernel != nullptr)
    if (const int fake = kernel->open_path(path); fake >= 0) return opened(fake);
  return opened(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode)));
}

// The descriptor is gone even where close() fails: close(2).
int close(int descriptor) {
  using namespace freehca::testing;
  const bool fails_now = fails("close", EIO);
  const int error = errno;
  if (now != nullptr) now->closed(descriptor);
  if (fake_vfio* const kernel = fake_vfio::current(); kernel != nullptr) kernel->closed(descriptor);
  const auto outcome = static_cast<int>(syscall(SYS_close, descriptor));
  if (!fails_now) return outcome;
  errno = error;
  return -1;
}

int ioctl(int descriptor, unsigned long request, ...) noexcept {
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  using namespace freehca::testing;
  fake_vfio* const kernel = fake_vfio::current();
  if (kernel == nullptr || !kernel->has(descriptor))
    return static_cast<int>(syscall(SYS_ioctl, descriptor, request, argument));
  for (const auto& r : requests)
    if (r.number == request && fails(r.name, r.error)) return -1;
  const int outcome = kernel->ioctl(descriptor, request, argument);
  return request == VFIO_GROUP_GET_DEVICE_FD ? opened(outcome) : outcome;
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int descriptor,
           off_t offset) noexcept {
  using namespace freehca::testing;
  if (fails("mmap", ENOMEM)) return MAP_FAILED;
  const long got = syscall(SYS_mmap, at, bytes, protection, flags, descriptor, offset);
  void* const mapped = got == -1 ? MAP_FAILED : reinterpret_cast<void*>(got);
  return now != nullptr ? now->mapped(mapped, bytes) : mapped;
}

int munmap(void* at, std::size_t bytes) noexcept {
  using namespace freehca::testing;
  if (fails("munmap", ENOMEM)) return -1;
  if (now != nullptr) now->unmapped(at, bytes);
  return static_cast<int>(syscall(SYS_munmap, at, bytes));
}

int madvise(void* at, std::size_t bytes, int advice) noexcept {
  if (freehca::testing::fails("madvise", ENOMEM)) return -1;
  return static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}

int eventfd(unsigned count, int flags) noexcept {
  using namespace freehca::testing;
  if (fails("eventfd", EMFILE)) return -1;
  return opened(static_cast<int>(syscall(SYS_eventfd2, count, flags)));
}

int epoll_create1(int flags) noexcept {
  using namespace freehca::testing;
  if (fails("epoll_create1", EMFILE)) return -1;
  return opened(static_cast<int>(syscall(SYS_epoll_create1, flags)));
}

int epoll_ctl(int epoll, int change, int descriptor, epoll_event* event) noexcept {
  if (freehca::testing::fails("epoll_ctl", ENOSPC)) return -1;
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, change, descriptor, event));
}

ssize_t pread(int descriptor, void* to, std::size_t bytes, off_t offset) {
  using namespace freehca::testing;
  if (fails("reading", EIO)) return -1;
  return syscall(SYS_pread64, descriptor, to, moved(descriptor, bytes), offset);
}

ssize_t pwrite(int descriptor, const void* from, std::size_t bytes, off_t offset) {
  using namespace freehca::testing;
  if (fails("writing", EIO)) return -1;
  return syscall(SYS_pwrite64, descriptor, from, moved(descriptor, bytes), offset);
}

}  // extern "C"

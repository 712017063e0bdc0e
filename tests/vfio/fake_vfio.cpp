// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fake_vfio.hpp"

#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace freehca::testing {
namespace {

fake_vfio* now = nullptr;

// The places of regions in the function's file.
constexpr std::uint64_t configuration_at = 0, bar0_at = 1 << 20, bar2_at = 2 << 20,
                        region_bytes = 1 << 20, file_bytes = 3 << 20;

}  // namespace

fake_vfio::fake_vfio()
    : seen_(static_cast<shared_state*>(mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  new (seen_) shared_state;
  now = this;
}

fake_vfio::~fake_vfio() {
  now = nullptr;
  munmap(seen_, sizeof(shared_state));
}

vfio_host::pci_function fake_vfio::function() {
  vfio_host::pci_function f;
  f.address = *vfio_host::parse_pci_address("0000:03:00.0");
  f.vendor = 0x15b3;
  f.device = 0x1003;
  f.driver = "vfio-pci";
  f.group = 7;
  return f;
}

std::unique_ptr<vfio_host::vfio_device> fake_vfio::open() {
  auto opened = vfio_host::vfio_device::open(function(), 4096);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    return nullptr;
  }
  *seen_ = {};
  return std::move(*opened);
}

std::uint16_t fake_vfio::command() const {
  std::uint16_t value = 0;
  EXPECT_EQ(pread(function_, &value, sizeof value, configuration_at + PCI_COMMAND),
            static_cast<ssize_t>(sizeof value));
  return value;
}

int fake_vfio::new_file(std::uint64_t bytes) {
  const int made = memfd_create("fake_vfio", MFD_CLOEXEC);
  if (made >= 0 && ftruncate(made, static_cast<off_t>(bytes)) == 0) files_.push_back(made);
  return made;
}

int fake_vfio::open_path(const char* path) {
  return std::strncmp(path, "/dev/vfio/", 10) == 0 ? new_file(0) : -1;
}

bool fake_vfio::has(int descriptor) const {
  return std::find(files_.begin(), files_.end(), descriptor) != files_.end();
}

// What structures have and what they mean: Linux include/uapi/linux/vfio.h.
int fake_vfio::ioctl(unsigned long request, void* argument) {
  ++seen_->calls;
  switch (request) {
    case VFIO_GET_API_VERSION:
      return VFIO_API_VERSION;
    case VFIO_CHECK_EXTENSION:
      return 1;
    case VFIO_GROUP_GET_STATUS:
      static_cast<vfio_group_status*>(argument)->flags = VFIO_GROUP_FLAGS_VIABLE;
      return 0;
    case VFIO_GROUP_SET_CONTAINER:
    case VFIO_SET_IOMMU:
      return 0;
    case VFIO_IOMMU_GET_INFO:
      static_cast<vfio_iommu_type1_info*>(argument)->flags = 0;
      return 0;
    case VFIO_GROUP_GET_DEVICE_FD:
      function_ = new_file(file_bytes);
      return function_;
    case VFIO_DEVICE_GET_INFO:
      static_cast<vfio_device_info*>(argument)->flags = VFIO_DEVICE_FLAGS_RESET;
      return 0;
    case VFIO_DEVICE_GET_REGION_INFO: {
      auto& region = *static_cast<vfio_region_info*>(argument);
      region.flags = VFIO_REGION_INFO_FLAG_MMAP;
      region.size = region_bytes;
      region.offset = region.index == VFIO_PCI_CONFIG_REGION_INDEX ? configuration_at
                      : region.index == VFIO_PCI_BAR0_REGION_INDEX ? bar0_at
                                                                   : bar2_at;
      return 0;
    }
    case VFIO_DEVICE_GET_IRQ_INFO: {
      auto& about = *static_cast<vfio_irq_info*>(argument);
      about.count = about.index == VFIO_PCI_MSIX_IRQ_INDEX ? vectors : 0;
      return 0;
    }
    case VFIO_DEVICE_SET_IRQS: {
      const auto& set = *static_cast<const vfio_irq_set*>(argument);
      if (set.index != VFIO_PCI_MSIX_IRQ_INDEX || set.count > vectors) {
        errno = EINVAL;
        return -1;
      }
      // Linux 6.1 vfio_pci_intrs.c, vfio_msi_enable: how many there are, and none is armed.
      if (set.count > granted) return static_cast<int>(granted);
      seen_->armed = set.count;
      return 0;
    }
    case VFIO_DEVICE_RESET:
      return 0;
    case VFIO_IOMMU_MAP_DMA:
      ++seen_->mapped;
      return 0;
    case VFIO_IOMMU_UNMAP_DMA:
      if (refuses_unmap) {
        errno = EINVAL;
        return -1;
      }
      --seen_->mapped;
      return 0;
    default:
      ADD_FAILURE() << "an ioctl that is not known here: " << request;
      errno = ENOTTY;
      return -1;
  }
}

}  // namespace freehca::testing

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0u;
  va_end(more);
  using freehca::testing::now;
  if (now != nullptr)
    if (const int fake = now->open_path(path); fake >= 0) return fake;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int ioctl(int descriptor, unsigned long request, ...) noexcept {
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  using freehca::testing::now;
  if (now != nullptr && now->has(descriptor)) return now->ioctl(request, argument);
  return static_cast<int>(syscall(SYS_ioctl, descriptor, request, argument));
}

}  // extern "C"

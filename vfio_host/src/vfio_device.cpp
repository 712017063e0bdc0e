// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The cold half of the HAL over an open VFIO function. Facts from the kernel's
// include/uapi/linux/vfio.h.
#include <freehca/vfio_host/vfio_device.hpp>

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include <freehca/process_memory/memory_rights.hpp>
#include <freehca/texts/text.hpp>
#include <freehca/vfio_host/sleep.hpp>

#include "dma_pages.hpp"

namespace freehca::vfio_host {

const platform_operations vfio_device::operations = {
    .bytes = sizeof(platform_operations),
    .map_bar = map_bar,
    .read_configuration = read_configuration,
    .write_configuration = write_configuration,
    .reset_function = reset_function,
    .set_bus_master = set_bus_master,
    .restore_after_reset = restore_after_reset,
    .allocate_dma = allocate_dma,
    .free_dma = free_dma,
    .map_memory = map_memory,
    .unmap_memory = unmap_memory,
    .arm_interrupts = arm_interrupts,
    .disarm_interrupts = disarm_interrupts,
    .now = [](void*) { return clock(); },
    .log =
        [](void*, const log_record& record) {
          char line[200];
          describe(record, line, sizeof line);
          std::fprintf(stderr, "freehca: %s\n", line);
        },
    .trace = nullptr,
    .map_read_only_memory = map_read_only_memory,
    .arm_line_interrupt = arm_line_interrupt,
};

freehca::platform vfio_device::platform() {
  return {&operations, this};
}

std::uint64_t vfio_device::clock() {
  return monotonic_now();
}

vfio_device::~vfio_device() {
  // In a forked child the adapter is the parent's, and no mapping was inherited.
  if (is_in_child()) return;
  // Close the function first, so that no DMA is possible when its memory is unmapped.
  disarm_interrupts(this);
  // A character device has no configuration space before it is attached.
  if (function_.open() && iova_) static_cast<void>(set_bus_master(this, false));
  for (const bar& b : bars_)
    if (b.at != nullptr) munmap(b.at, b.bytes);
  function_.close();
  for (const block& b : blocks_) {
    static_cast<void>(unmap_dma(b.iova, b.bytes));
    munmap(b.at, b.bytes);
  }
  for (const block& b : lent_) madvise(b.at, b.bytes, MADV_DOFORK);
}

bool vfio_device::is_in_child() const {
  return getpid() != opened_by_;
}

std::string vfio_device::last_refusal() const {
  const std::lock_guard alone(telling_);
  return refusal_;
}

status vfio_device::refused(const char* what, const std::string& why) {
  const int code = errno;
  const std::lock_guard alone(telling_);
  refusal_ = fmt::format("{}: {}{}", what, std::strerror(code), why);
  return {transport_error::refused, static_cast<unsigned>(code)};
}

status vfio_device::map_bar(void* context, unsigned number, mmio_region* mapped) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  if (number != 0 && number != 2) return driver_error::bad_argument;
  bar& b = d.bars_[number];
  if (b.at == nullptr) {
    // Memory decoding must be on before the first access. Otherwise the access ends the process.
    if (const status s = d.write_command(0, PCI_COMMAND_MEMORY); !s.ok()) return s;
    vfio_region_info region{};
    region.argsz = sizeof region;
    region.index = VFIO_PCI_BAR0_REGION_INDEX + number;
    if (ioctl(d.function_.get(), VFIO_DEVICE_GET_REGION_INFO, &region) != 0)
      return d.refused("VFIO_DEVICE_GET_REGION_INFO");
    if (region.size == 0 || (region.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0) {
      errno = ENOTSUP;
      return d.refused("mapping a BAR");
    }
    void* at = mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED, d.function_.get(),
                    static_cast<off_t>(region.offset));
    if (at == MAP_FAILED) return d.refused("mmap of a BAR");
    // A child's exit handlers must not reach the adapter's registers.
    if (madvise(at, region.size, MADV_DONTFORK) != 0) {
      const status s = d.refused("madvise of a BAR");
      munmap(at, region.size);
      return s;
    }
    b = {static_cast<std::byte*>(at), region.size};
  }
  *mapped = {b.at, b.bytes};
  return {};
}

status vfio_device::read_configuration(void* context, unsigned offset, std::uint32_t* value) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  return d.read(offset, value, sizeof *value) ? status() : d.refused("reading configuration space");
}

status vfio_device::write_configuration(void* context, unsigned offset, std::uint32_t value) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  return d.write(offset, &value, sizeof value) ? status()
                                               : d.refused("writing configuration space");
}

// A call that moves only a part of the bytes sets no errno.
bool vfio_device::read(unsigned offset, void* to, std::size_t bytes) const {
  errno = EIO;
  return pread(function_.get(), to, bytes, static_cast<off_t>(configuration_at_ + offset)) ==
         static_cast<ssize_t>(bytes);
}

bool vfio_device::write(unsigned offset, const void* from, std::size_t bytes) const {
  errno = EIO;
  return pwrite(function_.get(), from, bytes, static_cast<off_t>(configuration_at_ + offset)) ==
         static_cast<ssize_t>(bytes);
}

status vfio_device::write_command(std::uint32_t clear, std::uint32_t set) {
  if (is_in_child()) return transport_error::gone;
  std::uint16_t command = 0;
  if (!read(PCI_COMMAND, &command, sizeof command)) return refused("reading PCI_COMMAND");
  command = static_cast<std::uint16_t>((command & ~clear) | set);
  if (!write(PCI_COMMAND, &command, sizeof command)) return refused("writing PCI_COMMAND");
  return {};
}

status vfio_device::reset_function(void* context) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  if (!d.resettable_) return driver_error::unsupported;
  if (ioctl(d.function_.get(), VFIO_DEVICE_RESET) != 0) return d.refused("VFIO_DEVICE_RESET");
  return d.write_command(PCI_COMMAND_MASTER, PCI_COMMAND_MEMORY);
}

status vfio_device::set_bus_master(void* context, bool on) {
  return of(context).write_command(on ? 0 : PCI_COMMAND_MASTER, on ? PCI_COMMAND_MASTER : 0);
}

// The reset by register has cleared the BARs without the kernel's knowledge. If memory decoding is
// switched on while the function shows it off, vfio-pci notices this and restores the BARs (Linux
// 6.1 vfio_pci_config.c, vfio_bar_restore).
status vfio_device::restore_after_reset(void* context) {
  return of(context).write_command(PCI_COMMAND_MASTER, PCI_COMMAND_MEMORY);
}

std::optional<std::uint64_t> vfio_device::take_iova_like(const std::byte* at, std::size_t bytes) {
  // Pages of the IOMMU are no larger than 1 GiB (Intel VT-d, AMD-Vi).
  constexpr std::size_t largest = std::size_t{1} << 30;
  const std::size_t alignment = std::bit_ceil(std::min(bytes, largest));
  const auto like = iova_->take(bytes, alignment, reinterpret_cast<std::uintptr_t>(at) % alignment);
  return like ? like : iova_->take(bytes, iova_allocator::page);
}

int vfio_device::map_in_container(const std::byte* at, std::size_t bytes, std::uint64_t iova,
                                  bool write) {
  vfio_iommu_type1_dma_map map{};
  map.argsz = sizeof map;
  map.flags = VFIO_DMA_MAP_FLAG_READ | (write ? VFIO_DMA_MAP_FLAG_WRITE : 0);
  map.vaddr = reinterpret_cast<std::uintptr_t>(at);
  map.iova = iova;
  map.size = bytes;
  return ioctl(iommu_.get(), VFIO_IOMMU_MAP_DMA, &map);
}

int vfio_device::unmap_in_container(std::uint64_t iova, std::uint64_t* bytes) {
  vfio_iommu_type1_dma_unmap unmap{};
  unmap.argsz = sizeof unmap;
  unmap.iova = iova;
  unmap.size = *bytes;
  const int outcome = ioctl(iommu_.get(), VFIO_IOMMU_UNMAP_DMA, &unmap);
  *bytes = unmap.size;
  return outcome;
}

std::string vfio_device::mapping_remedy(int error, const std::byte* at, std::size_t bytes,
                                        bool write) const {
  if (error == EFAULT) return process_memory::missing_rights(at, bytes, write);
  // vfio_iommu_type1.c counts the mappings of a container: the parameter dma_entry_limit.
  if (error == ENOSPC && door_ == door::group)
    return fmt::format(
        "; the container's mappings are used up ({}); raise the limit before the program starts: "
        "echo N > /sys/module/vfio_iommu_type1/parameters/dma_entry_limit, or use iommufd, which "
        "has none (--door iommufd)",
        most_mappings_ ? fmt::format("it had room for {}", *most_mappings_) : "65535 is usual");
  return {};
}

status vfio_device::map_dma(std::byte* at, std::size_t bytes, std::optional<std::uint64_t> iova,
                            bool write) {
  if (!iova) {
    errno = ENOSPC;
    return refused("I/O virtual addresses");
  }
  const bool in_address_space = door_ == door::iommufd;
  if ((in_address_space ? map_in_address_space(at, bytes, *iova, write)
                        : map_in_container(at, bytes, *iova, write)) != 0) {
    const int code = errno;
    const std::string why = mapping_remedy(code, at, bytes, write);
    errno = code;
    const status s = refused(in_address_space ? "IOMMU_IOAS_MAP" : "VFIO_IOMMU_MAP_DMA", why);
    iova_->give_back(*iova, bytes);
    return s;
  }
  return {};
}

status vfio_device::unmap_dma(std::uint64_t iova, std::size_t bytes) {
  const bool in_address_space = door_ == door::iommufd;
  const char* const call = in_address_space ? "IOMMU_IOAS_UNMAP" : "VFIO_IOMMU_UNMAP_DMA";
  std::uint64_t unmapped = bytes;
  if ((in_address_space ? unmap_in_address_space(iova, &unmapped)
                        : unmap_in_container(iova, &unmapped)) != 0)
    return refused(call);
  // How much the kernel unmapped: nothing is no error to a container.
  if (unmapped != bytes) {
    errno = EINVAL;
    return refused(call);
  }
  iova_->give_back(iova, bytes);
  return {};
}

status vfio_device::allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                                 dma_region* out) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  const std::lock_guard alone(d.mapping_);
  bytes = whole_pages(d.pages_, bytes);
  std::byte* const at = map_pages(d.pages_, bytes);
  if (at == nullptr) {
    const std::string remedy = how_to_have_pages(d.pages_, bytes, errno);
    const status s = d.refused("mmap of DMA memory", remedy);
    // A lack of huge pages is ENOMEM to the kernel, but no limit of locked memory.
    return remedy.empty() ? s : status(transport_error::refused, ENOSPC);
  }
  // Large pages of the IOMMU need addresses that agree with those of the memory.
  if (has_large_pages(d.pages_, bytes)) alignment = std::max(alignment, huge_page);
  // A child that writes first would take the page away from under the device.
  status s;
  std::optional<std::uint64_t> iova;
  if (madvise(at, bytes, MADV_DONTFORK) != 0) {
    s = d.refused("madvise of DMA memory");
  } else {
    iova = d.iova_->take(bytes, std::max<std::size_t>(alignment, iova_allocator::page));
    s = d.map_dma(at, bytes, iova, true);
  }
  if (!s.ok()) {
    munmap(at, bytes);
    return s;
  }
  d.blocks_.push_back({at, *iova, bytes});
  *out = {at, *iova, bytes};
  return {};
}

void vfio_device::free_dma(void* context, const dma_region& region) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return;
  const std::lock_guard alone(d.mapping_);
  const auto found = std::find_if(d.blocks_.begin(), d.blocks_.end(),
                                  [&](const block& b) { return b.iova == region.device_address; });
  if (found == d.blocks_.end()) return;
  // The device can still reach a block that stays mapped: the destructor tries once more.
  if (!d.unmap_dma(found->iova, found->bytes).ok()) return;
  if (munmap(found->at, found->bytes) != 0) static_cast<void>(d.refused("munmap of DMA memory"));
  d.blocks_.erase(found);
}

status vfio_device::map_memory(void* context, std::byte* memory, std::size_t bytes,
                               std::uint64_t* device_address) {
  return of(context).lend(memory, bytes, true, device_address);
}

status vfio_device::map_read_only_memory(void* context, std::byte* memory, std::size_t bytes,
                                         std::uint64_t* device_address) {
  return of(context).lend(memory, bytes, false, device_address);
}

status vfio_device::lend(std::byte* memory, std::size_t bytes, bool write,
                         std::uint64_t* device_address) {
  if (is_in_child()) return transport_error::gone;
  const std::lock_guard alone(mapping_);
  // As for the driver's own memory: a fork must not give the parent's page to the child.
  status s;
  std::optional<std::uint64_t> iova;
  if (madvise(memory, bytes, MADV_DONTFORK) != 0) {
    const int code = errno;
    const std::string why = process_memory::missing_rights(memory, bytes, write);
    // The kernel says ENOMEM of a page that is not there, and of a lack of memory.
    errno = why.empty() ? code : EFAULT;
    s = refused("madvise of the program's memory", why);
  } else {
    iova = take_iova_like(memory, bytes);
    s = map_dma(memory, bytes, iova, write);
  }
  if (!s.ok()) {
    static_cast<void>(take_back({memory, 0, bytes}));
    return s;
  }
  lent_.push_back({memory, *iova, bytes});
  *device_address = *iova;
  return {};
}

status vfio_device::unmap_memory(void* context, std::uint64_t device_address, std::size_t bytes) {
  vfio_device& d = of(context);
  if (d.is_in_child()) return transport_error::gone;
  const std::lock_guard alone(d.mapping_);
  // The kernel would take a larger number of bytes, and unmap what stands behind it too.
  const auto found = std::find_if(d.lent_.begin(), d.lent_.end(), [&](const block& b) {
    return b.iova == device_address && b.bytes == bytes;
  });
  if (found == d.lent_.end()) return driver_error::bad_argument;
  FREEHCA_TRY(d.unmap_dma(device_address, bytes));
  const block back = *found;
  d.lent_.erase(found);
  // It is unmapped, so this succeeds. Children do not inherit the pages.
  if (!d.take_back(back)) static_cast<void>(d.refused("madvise of the program's memory"));
  return {};
}

std::size_t vfio_device::lent_bytes() const {
  const std::lock_guard alone(mapping_);
  std::size_t all = 0;
  for (const block& b : lent_) all += b.bytes;
  return all;
}

// Pages of the driver, and those that another mapping lends to the device, stay out of children.
bool vfio_device::take_back(const block& b) const {
  bool ok = true;
  std::byte* at = b.at;
  std::byte* const end = b.at + b.bytes;
  while (at != end) {
    // If another block covers `at`, `covered` is its end. Otherwise `free_until` is the beginning
    // of the next block.
    std::byte* covered = at;
    std::byte* free_until = end;
    for (const std::vector<block>* blocks : {&lent_, &blocks_})
      for (const block& other : *blocks) {
        if (other.at <= at && other.at + other.bytes > covered) covered = other.at + other.bytes;
        if (other.at > at && other.at < free_until) free_until = other.at;
      }
    if (covered == at)
      ok &= madvise(at, static_cast<std::size_t>(free_until - at), MADV_DOFORK) == 0;
    at = covered == at ? free_until : std::min(covered, end);
  }
  return ok;
}

}  // namespace freehca::vfio_host

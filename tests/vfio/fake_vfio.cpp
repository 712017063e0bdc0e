// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fake_vfio.hpp"

#include <linux/pci_regs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <gtest/gtest.h>

#include <freehca/process_memory/memory_rights.hpp>

namespace freehca::testing {
namespace {

fake_vfio* now = nullptr;

// The places of regions in the function's file.
constexpr std::uint64_t configuration_at = 0, bar0_at = 1 << 20, bar2_at = 2 << 20,
                        region_bytes = 1 << 20, file_bytes = 3 << 20;

// The number of an I/O address space.
constexpr std::uint32_t address_space = 5;

bool is(const char* path, const char* other) {
  return std::strcmp(path, other) == 0;
}

}  // namespace

fake_vfio::fake_vfio()
    : seen_(static_cast<shared_state*>(mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  new (seen_) shared_state;
  now = this;
}

fake_vfio* fake_vfio::current() {
  return now;
}

fake_vfio::~fake_vfio() {
  now = nullptr;
  munmap(seen_, sizeof(shared_state));
}

vfio_host::pci_function fake_vfio::function(vfio_host::door way) {
  vfio_host::pci_function f;
  f.address = *vfio_host::parse_pci_address("0000:03:00.0");
  f.vendor = 0x15b3;
  f.device = 0x1003;
  f.driver = "vfio-pci";
  f.group = 7;
  if (way != vfio_host::door::group) f.character_device = "vfio3";
  return f;
}

std::unique_ptr<vfio_host::vfio_device> fake_vfio::open(vfio_host::door way,
                                                        vfio_host::memory_pages pages) {
  auto opened = vfio_host::vfio_device::open(function(way), 4096, {way, pages});
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
  if (is(path, "/dev/iommu")) return iommufd_ = new_file(0);
  if (is(path, "/dev/vfio/devices/vfio3")) {
    bound_ = attached_ = false;
    return function_ = new_file(file_bytes);
  }
  return std::strncmp(path, "/dev/vfio/", 10) == 0 ? new_file(0) : -1;
}

bool fake_vfio::has(int descriptor) const {
  return std::find(files_.begin(), files_.end(), descriptor) != files_.end();
}

void fake_vfio::closed(int descriptor) {
  // A child's close() leaves the file open for its parent.
  if (getpid() != made_by_) return;
  std::erase(files_, descriptor);
  if (descriptor == function_) {
    function_ = -1;
    bound_ = attached_ = false;
    seen_->armed = 0;
    notices_.clear();
  }
  if (descriptor == iommufd_) {
    iommufd_ = -1;
    has_space_ = false;
  }
  // A group keeps its container, and a character device its iommufd.
  if (files_.empty()) maps_.clear();
}

void fake_vfio::signal(unsigned index) {
  const std::uint64_t one = 1;
  ASSERT_EQ(notices_.count(index), 1u);
  ASSERT_EQ(write(notices_[index], &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

bool fake_vfio::has_mapped(const void* at, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  return std::any_of(maps_.begin(), maps_.end(), [&](const auto& m) {
    return m.second.memory < first + bytes && first < m.second.memory + m.second.bytes;
  });
}

int fake_vfio::get_iommu_info(void* argument) {
  vfio_iommu_type1_info info{};
  std::memcpy(&info, argument, sizeof info.argsz);
  const std::uint32_t room = info.argsz;
  if (ranges.empty()) {
    info.flags = 0;
    std::memcpy(argument, &info, sizeof info);
    return 0;
  }
  // Its list is an array of no size, which clang does not initialise.
  vfio_iommu_type1_info_cap_iova_range capability;
  std::memset(&capability, 0, sizeof capability);
  capability.header = {VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, 1, 0};
  capability.nr_iovas = static_cast<std::uint32_t>(ranges.size());
  // A capability that the host does not know comes first, or that of the mappings.
  vfio_iommu_type1_info_dma_avail other{};
  other.header = {
      static_cast<std::uint16_t>(tells_mappings ? VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL : 0xfff0), 1,
      sizeof info + sizeof other};
  other.avail = mappings;
  std::vector<std::byte> answer(sizeof info + sizeof other + sizeof capability);
  std::memcpy(answer.data() + sizeof info, &other, sizeof other);
  std::memcpy(answer.data() + sizeof info + sizeof other, &capability, sizeof capability);
  for (const vfio_host::iova_range& r : ranges) {
    const vfio_iova_range one{r.first, r.last};
    const auto* const bytes = reinterpret_cast<const std::byte*>(&one);
    answer.insert(answer.end(), bytes, bytes + sizeof one);
  }
  info.flags = VFIO_IOMMU_INFO_CAPS;
  info.argsz = static_cast<std::uint32_t>(answer.size());
  if (growing > 0) {
    --growing;
    info.argsz = std::max(info.argsz, room) + sizeof(vfio_iova_range);
  }
  if (info.argsz <= room) info.cap_offset = sizeof info;
  std::memcpy(answer.data(), &info, sizeof info);
  if (alters) alters(answer);
  std::memcpy(argument, answer.data(), info.argsz <= room ? answer.size() : sizeof info);
  return 0;
}

// Linux 6.1 vfio_pci_intrs.c, vfio_pci_set_intx_trigger and vfio_pci_set_intx_unmask.
int fake_vfio::set_line(const vfio_irq_set& set) {
  const bool all_off = set.flags == (VFIO_IRQ_SET_ACTION_TRIGGER | VFIO_IRQ_SET_DATA_NONE);
  if (line_ >= 0 && all_off && set.count == 0) {
    line_ = -1;
    seen_->line_armed = false;
    return 0;
  }
  const bool unmask = set.flags == (VFIO_IRQ_SET_ACTION_UNMASK | VFIO_IRQ_SET_DATA_NONE);
  const bool arm = set.flags == (VFIO_IRQ_SET_ACTION_TRIGGER | VFIO_IRQ_SET_DATA_EVENTFD);
  if (!has_line || seen_->armed != 0 || set.start != 0 || set.count != 1 || unmask == arm ||
      unmask != (line_ >= 0)) {
    errno = EINVAL;
    return -1;
  }
  line_masked_ = false;
  if (unmask) {
    ++seen_->line_unmasked;
    return 0;
  }
  std::memcpy(&line_, set.data, sizeof line_);
  seen_->line_armed = true;
  return 0;
}

bool fake_vfio::assert_line() {
  if (line_ < 0 || line_masked_) return false;
  line_masked_ = true;
  const std::uint64_t one = 1;
  return ::write(line_, &one, sizeof one) == sizeof one;
}

int fake_vfio::set_interrupts(const vfio_irq_set& set) {
  if (set.index == VFIO_PCI_REQ_IRQ_INDEX || set.index == VFIO_PCI_ERR_IRQ_INDEX) {
    int event = -1;
    if (set.count == 1) std::memcpy(&event, set.data, sizeof event);
    notices_[set.index] = event;
    return 0;
  }
  if (set.index == VFIO_PCI_INTX_IRQ_INDEX) return set_line(set);
  if (set.index != VFIO_PCI_MSIX_IRQ_INDEX || set.count > vectors) {
    errno = EINVAL;
    return -1;
  }
  if (set.count > granted && refuses_more) {
    errno = ENOSPC;
    return -1;
  }
  // Linux 6.1 vfio_pci_intrs.c, vfio_msi_enable: how many there are, and none is armed.
  if (set.count > granted) return static_cast<int>(granted);
  seen_->armed = set.count;
  return 0;
}

bool fake_vfio::is_allowed(std::uint64_t iova, std::uint64_t last) const {
  if (ranges.empty()) return last < 0xfee00000 || iova >= 0xfef00000;
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& r) { return r.first <= iova && last <= r.last; });
}

// Both doors pin the pages with the rights of the process.
int fake_vfio::add_mapping(std::uint64_t iova, std::uint64_t memory, std::uint64_t bytes,
                           bool write) {
  const auto* const at =
      reinterpret_cast<const void*>(memory);  // NOLINT(performance-no-int-to-ptr)
  if (!process_memory::rights_to(at, bytes).allow(write)) {
    errno = EFAULT;
    return -1;
  }
  maps_[iova] = {memory, bytes, write};
  ++seen_->mapped;
  return 0;
}

// Linux 6.1 vfio_iommu_type1.c, vfio_dma_do_map and vfio_iommu_iova_dma_valid.
int fake_vfio::map(const vfio_iommu_type1_dma_map& what) {
  const std::uint64_t last = what.iova + what.size - 1;
  const bool has_room = std::none_of(maps_.begin(), maps_.end(), [&](const auto& m) {
    return m.first <= last && what.iova < m.first + m.second.bytes;
  });
  const bool allowed = is_allowed(what.iova, last);
  if (!has_room || !allowed || maps_.size() >= mappings) {
    errno = !has_room ? EEXIST : !allowed ? EINVAL : ENOSPC;
    return -1;
  }
  return add_mapping(what.iova, what.vaddr, what.size, (what.flags & VFIO_DMA_MAP_FLAG_WRITE) != 0);
}

// Linux 6.12 drivers/iommu/iommufd: ioas.c, iommufd_ioas_map; io_pagetable.c, iopt_check_iova.
int fake_vfio::map_in_address_space(const vfio_host::iommufd::map_request& what) {
  using namespace vfio_host::iommufd;
  const std::uint64_t last = what.iova + what.length - 1;
  const bool has_room = std::none_of(maps_.begin(), maps_.end(), [&](const auto& m) {
    return m.first <= last && what.iova < m.first + m.second.bytes;
  });
  if (what.reserved != 0 || (what.flags & ~(map_fixed_iova | map_writeable | map_readable)) != 0)
    errno = EOPNOTSUPP;
  else if ((what.flags & map_readable) == 0 || (what.flags & map_fixed_iova) == 0) errno = EINVAL;
  else if (what.ioas_id != address_space || !has_space_) errno = ENOENT;
  else if (what.iova % alignment != 0 || (attached_ && !is_allowed(what.iova, last)))
    errno = EINVAL;
  else if (!has_room) errno = EEXIST;
  else return add_mapping(what.iova, what.user_va, what.length, (what.flags & map_writeable) != 0);
  return -1;
}

// iopt_unmap_iova_range: no mapping may stand across an end of the range. One at least is in it.
int fake_vfio::unmap_in_address_space(vfio_host::iommufd::unmap_request& what) {
  vfio_iommu_type1_dma_unmap same{};
  same.iova = what.iova;
  same.size = what.length;
  if (what.ioas_id != address_space || !has_space_ || unmap(same) != 0 || same.size == 0) {
    errno = ENOENT;
    return -1;
  }
  what.length = same.size;
  return 0;
}

// ioas.c, iommufd_ioas_iova_ranges. An address space without devices allows every address.
int fake_vfio::get_ranges(vfio_host::iommufd::ranges_request& what) {
  if (what.ioas_id != address_space || !has_space_) {
    errno = ENOENT;
    return -1;
  }
  std::vector<vfio_host::iova_range> all{{0, ~std::uint64_t{0}}};
  if (attached_)
    all = ranges.empty() ? decltype(all){{0, 0xfedfffff}, {0xfef00000, 1ull << 40}} : ranges;
  const std::uint32_t room = what.num_iovas;
  what.num_iovas = static_cast<std::uint32_t>(all.size());
  what.out_iova_alignment = alignment;
  if (growing > 0) {
    --growing;
    what.num_iovas = room + 1;
  }
  auto* const to =
      reinterpret_cast<vfio_host::iommufd::range*>(  // NOLINT(performance-no-int-to-ptr)
          what.allowed_iovas);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(room, all.size()); ++i)
    to[i] = {all[i].first, all[i].last};
  if (what.num_iovas <= room) return 0;
  errno = EMSGSIZE;
  return -1;
}

int fake_vfio::ioctl_of_iommufd(unsigned long request, void* argument) {
  using namespace vfio_host::iommufd;
  switch (request) {
    case ioas_alloc:
      has_space_ = true;
      static_cast<alloc_request*>(argument)->out_ioas_id = address_space;
      return 0;
    case ioas_iova_ranges:
      return get_ranges(*static_cast<ranges_request*>(argument));
    case ioas_map:
      return map_in_address_space(*static_cast<const map_request*>(argument));
    case ioas_unmap:
      return unmap_in_address_space(*static_cast<unmap_request*>(argument));
    case bind_iommufd: {
      auto& what = *static_cast<bind_request*>(argument);
      // device_cdev.c, vfio_df_ioctl_bind_iommufd.
      if (what.argsz < sizeof what || what.flags != 0 || what.iommufd != iommufd_ || bound_) break;
      bound_ = true;
      what.out_devid = 1;
      return 0;
    }
    case attach_pt: {
      auto& what = *static_cast<attach_request*>(argument);
      if (what.argsz < sizeof what || what.flags != 0 || !bound_ || attached_) break;
      if (what.pt_id != address_space || !has_space_) {
        errno = ENOENT;
        return -1;
      }
      attached_ = true;
      what.pt_id = address_space + 1;  // that of the page table that the kernel made
      return 0;
    }
    default:
      ADD_FAILURE() << "an ioctl that is not known here: " << request;
  }
  errno = EINVAL;
  return -1;
}

// vfio_dma_do_unmap: a range that cuts a mapping is refused. All others are unmapped that it has.
int fake_vfio::unmap(vfio_iommu_type1_dma_unmap& what) {
  std::uint64_t unmapped = 0;
  const auto first = maps_.lower_bound(what.iova);
  auto last = first;
  while (last != maps_.end() && last->first + last->second.bytes <= what.iova + what.size)
    unmapped += last++->second.bytes;
  const bool cuts_begin = first != maps_.begin() &&
                          std::prev(first)->first + std::prev(first)->second.bytes > what.iova;
  const bool cuts_end = last != maps_.end() && last->first < what.iova + what.size;
  if (refuses_unmap || cuts_begin || cuts_end) {
    errno = EINVAL;
    return -1;
  }
  seen_->mapped -= static_cast<unsigned>(std::distance(first, last));
  maps_.erase(first, last);
  what.size = unmapped;
  return 0;
}

// What structures have and what they mean: Linux include/uapi/linux/vfio.h.
int fake_vfio::ioctl(int descriptor, unsigned long request, void* argument) {
  ++seen_->calls;
  // vfio_main.c, vfio_device_fops_unl_ioctl: a character device has one request until it is bound
  if (iommufd_ >= 0 && descriptor == function_ && !bound_ &&
      request != vfio_host::iommufd::bind_iommufd) {
    errno = EINVAL;
    return -1;
  }
  switch (request) {
    case VFIO_GET_API_VERSION:
      return version;
    case VFIO_CHECK_EXTENSION:
      return type1 ? 1 : 0;
    case VFIO_GROUP_GET_STATUS:
      static_cast<vfio_group_status*>(argument)->flags = viable ? VFIO_GROUP_FLAGS_VIABLE : 0;
      return 0;
    case VFIO_GROUP_SET_CONTAINER:
    case VFIO_SET_IOMMU:
      return 0;
    case VFIO_IOMMU_GET_INFO:
      return get_iommu_info(argument);
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
      const bool is_notice = about.index != VFIO_PCI_MSIX_IRQ_INDEX;
      if (is_notice && !has_notices) {
        errno = EINVAL;
        return -1;
      }
      about.count = is_notice ? 1 : vectors;
      return 0;
    }
    case VFIO_DEVICE_SET_IRQS:
      return set_interrupts(*static_cast<const vfio_irq_set*>(argument));
    case VFIO_DEVICE_RESET:
      return 0;
    case VFIO_IOMMU_MAP_DMA:
      return map(*static_cast<const vfio_iommu_type1_dma_map*>(argument));
    case VFIO_IOMMU_UNMAP_DMA:
      return unmap(*static_cast<vfio_iommu_type1_dma_unmap*>(argument));
    default:
      return ioctl_of_iommufd(request, argument);
  }
}

}  // namespace freehca::testing

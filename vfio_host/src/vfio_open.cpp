// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// From a PCI address to an open function: the choice of the door, and the door of the group with
// container, group, IOMMU and device. Facts from the kernel's include/uapi/linux/vfio.h and
// Documentation/driver-api/vfio.rst.
#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <freehca/vfio_host/vfio_device.hpp>

#include "dma_pages.hpp"

namespace freehca::vfio_host {
namespace {

constexpr unsigned capability_ipc_lock = 14;  // linux/capability.h CAP_IPC_LOCK

failure system_failure(const std::string& what) {
  return {trouble::system, fmt::format("{}: {}", what, std::strerror(errno))};
}

bool may_lock_everything() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == "CapEff:") {
      std::uint64_t set = 0;
      in >> std::hex >> set;
      return (set >> capability_ipc_lock & 1) != 0;
    }
  return false;
}

std::optional<failure> check_locked_memory(std::size_t bytes, door way) {
  rlimit limit{};
  if (may_lock_everything() || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes)
    return std::nullopt;
  // Linux 6.12 drivers/iommu/iommufd/pages.c, incr_user_locked_vm.
  const char* const counted =
      way == door::iommufd ? "; iommufd counts the memory of all of the user's processes" : "";
  return failure{trouble::locked_memory_limit,
                 fmt::format("{}; the limit (RLIMIT_MEMLOCK) is {}{}", how_to_lock(bytes),
                             limit.rlim_cur, counted)};
}

failure in_use(const std::string& path) {
  return {trouble::in_use,
          fmt::format("another process has {0} open ('fuser {1}' names it); end it first", path,
                      path.substr(0, path.find(' ')))};
}

/// How often VFIO_IOMMU_GET_INFO is asked again with more room.
constexpr unsigned most_attempts = 4;

/// What a container can map.
struct container_limits {
  std::vector<iova_range> ranges;
  std::optional<std::uint32_t> mappings;  ///< that are left (Linux 5.10)
};

/// From the list of capabilities that begins at byte `at` of the kernel's answer (0: it has none).
/// None: the list is not whole.
std::optional<container_limits> limits_of(const std::vector<std::byte>& answer, std::size_t at) {
  const auto read = [&](std::size_t from, auto* to) {
    if (from > answer.size() || answer.size() - from < sizeof *to) return false;
    std::memcpy(to, answer.data() + from, sizeof *to);
    return true;
  };
  container_limits limits;
  std::vector<iova_range>& ranges = limits.ranges;
  for (vfio_info_cap_header header{}; at != 0; at = header.next) {
    // The kernel links them in the order in which they stand (Linux 6.1 vfio_main.c,
    // vfio_info_cap_add). A list that goes back would have no end.
    const std::size_t before = at;
    if (!read(at, &header) || (header.next != 0 && header.next <= before)) return std::nullopt;
    if (header.id == VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL) {
      vfio_iommu_type1_info_dma_avail available{};
      if (!read(at, &available)) return std::nullopt;
      limits.mappings = available.avail;
    }
    if (header.id != VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) continue;
    vfio_iommu_type1_info_cap_iova_range capability;
    if (!read(at, &capability)) return std::nullopt;
    at += sizeof capability;
    for (std::uint32_t i = 0; i < capability.nr_iovas; ++i, at += sizeof(vfio_iova_range)) {
      vfio_iova_range r{};
      if (!read(at, &r)) return std::nullopt;
      ranges.push_back({r.start, r.end});
    }
  }
  // A kernel older than 5.4 does not tell. What it then does not map is the window of x86's
  // interrupt messages, 0xfee00000 to 0xfeefffff.
  if (ranges.empty()) ranges = {{0, 0xfedfffff}, {0xfef00000, (std::uint64_t{1} << 39) - 1}};
  return limits;
}

}  // namespace

std::string how_to_lock(std::size_t bytes) {
  return fmt::format(
      "{} bytes of memory must be locked for the device; raise the limit: ulimit -l {} (KiB), or a "
      "line "
      "'memlock' in /etc/security/limits.conf, or LimitMEMLOCK={} in a unit of systemd",
      bytes, (bytes + 1023) / 1024, bytes);
}

outcome<std::unique_ptr<vfio_device>> vfio_device::open(const pci_function& function,
                                                        std::size_t locked_bytes,
                                                        const open_options& how) {
  if (auto why = unusable(function)) return *why;
  std::unique_ptr<vfio_device> d(new vfio_device);
  // The kernel locks whole pages.
  locked_bytes = whole_pages(how.pages, locked_bytes);
  d->locked_bytes_ = locked_bytes;
  d->pages_ = how.pages;
  if (auto why = d->open_door(function, how.way)) return *why;
  if (auto why = check_locked_memory(locked_bytes, d->door_)) return *why;
  const bool by_iommufd = d->door_ == door::iommufd;
  if (auto why = by_iommufd ? d->attach_to_address_space(function) : d->attach_to_container())
    return *why;
  if (auto why = by_iommufd ? d->read_address_space_ranges() : d->read_container_ranges())
    return *why;
  if (auto why = d->open_function(function)) return *why;
  return d;
}

std::optional<failure> vfio_device::obstacle(const pci_function& function, door way) {
  if (auto why = unusable(function)) return why;
  vfio_device door_alone;
  if (auto why = door_alone.open_door(function, way)) return why;
  if (door_alone.door_ == door::group) return std::nullopt;
  // The character device can be opened while another process uses the function. The group cannot
  // (Linux 6.12 group.c, vfio_group_fops_open).
  const std::string group = fmt::format("/dev/vfio/{}", *function.group);
  const file unused(::open(group.c_str(), O_RDWR | O_CLOEXEC));
  if (unused.open() || errno != EBUSY) return std::nullopt;
  return in_use(fmt::format("{} or {}", function.character_device_path(), group));
}

door vfio_device::usable_door(const pci_function& function, door way) {
  if (way != door::automatic) return way;
  if (unusable(function) || function.character_device.empty()) return door::group;
  vfio_device door_alone;
  return door_alone.open_character_device(function) ? door::group : door::iommufd;
}

std::optional<failure> vfio_device::open_door(const pci_function& function, door way) {
  door_ = door::group;
  if (way == door::group || (way == door::automatic && function.character_device.empty()))
    return open_group(function);
  door_ = door::iommufd;
  const auto why = open_character_device(function);
  if (!why || way == door::iommufd) return why;
  function_.close();
  iommu_.close();
  door_ = door::group;
  auto other = open_group(function);
  if (!other) return std::nullopt;
  // The message names both doors where the user can open either. A kernel may have no groups.
  if (other->kind == trouble::no_iommu) return why;
  if (other->kind == trouble::no_permission) other->message += "; or iommufd: " + why->message;
  return other;
}

std::optional<failure> vfio_device::open_group(const pci_function& function) {
  iommu_ = file(::open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC));
  if (!iommu_.open()) {
    if (errno == EACCES || errno == EPERM)
      return failure{trouble::no_permission,
                     "no permission to open /dev/vfio/vfio; run as root, or: "
                     "chmod 0666 /dev/vfio/vfio (it gives no access to any device by itself)"};
    if (errno == ENOENT)
      return failure{trouble::no_iommu,
                     "there is no /dev/vfio/vfio; load VFIO: modprobe vfio-pci vfio_iommu_type1"};
    return system_failure("/dev/vfio/vfio");
  }
  const int version = ioctl(iommu_.get(), VFIO_GET_API_VERSION);
  if (version < 0) return system_failure("VFIO_GET_API_VERSION");
  if (version != VFIO_API_VERSION)
    return failure{trouble::system, "this kernel's VFIO speaks another version of its interface"};
  const int offered = ioctl(iommu_.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU);
  if (offered < 0) return system_failure("VFIO_CHECK_EXTENSION");
  if (offered == 0)
    return failure{
        trouble::no_iommu,
        "the kernel offers no type 1 IOMMU to VFIO; load its driver: modprobe vfio_iommu_type1"};

  const std::string path = fmt::format("/dev/vfio/{}", *function.group);
  group_ = file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!group_.open()) {
    if (errno == EACCES || errno == EPERM)
      return failure{
          trouble::no_permission,
          fmt::format("no permission to open {0}; run as root, or give yourself the group: "
                      "chown \"$USER\" {0}",
                      path)};
    if (errno == EBUSY) return in_use(path);
    return system_failure(path);
  }
  vfio_group_status group_status{};
  group_status.argsz = sizeof group_status;
  if (ioctl(group_.get(), VFIO_GROUP_GET_STATUS, &group_status) != 0)
    return system_failure("VFIO_GROUP_GET_STATUS");
  if ((group_status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0)
    return failure{
        trouble::group_not_viable,
        fmt::format("IOMMU group {} is not viable: its other devices are not bound to vfio-pci and "
                    "could be "
                    "reached by this one: {}; bind them to vfio-pci too, or to no driver",
                    *function.group, fmt::join(function.others, ", "))};
  return std::nullopt;
}

std::optional<failure> vfio_device::attach_to_container() {
  const int container = iommu_.get();
  if (ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0)
    return system_failure("VFIO_GROUP_SET_CONTAINER");
  if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) {
    if (errno == EPERM)
      return failure{trouble::no_iommu,
                     "the IOMMU does not remap interrupts, so VFIO refuses it; switch interrupt "
                     "remapping on in the "
                     "firmware's setup, or accept that a device can forge interrupts: "
                     "echo 1 > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts"};
    return system_failure("VFIO_SET_IOMMU");
  }
  return std::nullopt;
}

std::optional<failure> vfio_device::read_container_ranges() {
  // A kernel that needs more room says how much, and leaves the capabilities out until it has it.
  // What it needs may have grown by the next call: a group was attached or a mapping was made.
  std::vector<std::byte> answer(sizeof(vfio_iommu_type1_info));
  vfio_iommu_type1_info info{};
  for (unsigned attempts = 0;; ++attempts) {
    info = {};
    info.argsz = static_cast<std::uint32_t>(answer.size());
    std::memcpy(answer.data(), &info, sizeof info);
    if (ioctl(iommu_.get(), VFIO_IOMMU_GET_INFO, answer.data()) != 0)
      return system_failure("VFIO_IOMMU_GET_INFO");
    std::memcpy(&info, answer.data(), sizeof info);
    if (info.argsz <= answer.size()) break;
    if (attempts == most_attempts)
      return failure{trouble::system,
                     fmt::format("VFIO_IOMMU_GET_INFO: its answer grows with each call; {} bytes "
                                 "are not enough",
                                 answer.size())};
    answer.resize(info.argsz);
  }
  const bool has_capabilities = (info.flags & VFIO_IOMMU_INFO_CAPS) != 0;
  const auto limits = limits_of(answer, has_capabilities ? info.cap_offset : 0);
  if (!limits)
    return failure{trouble::system, "VFIO_IOMMU_GET_INFO: a capability ends behind the answer"};
  iova_.emplace(limits->ranges);
  most_mappings_ = limits->mappings;
  return std::nullopt;
}

std::optional<failure> vfio_device::open_function(const pci_function& function) {
  const std::string name = function.address.text();
  if (door_ == door::group) {
    function_ = file(ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, name.c_str()));
    if (!function_.open()) return system_failure("VFIO_GROUP_GET_DEVICE_FD " + name);
  }
  vfio_device_info info{};
  info.argsz = sizeof info;
  if (ioctl(function_.get(), VFIO_DEVICE_GET_INFO, &info) != 0)
    return system_failure("VFIO_DEVICE_GET_INFO");
  resettable_ = (info.flags & VFIO_DEVICE_FLAGS_RESET) != 0;
  vfio_region_info region{};
  region.argsz = sizeof region;
  region.index = VFIO_PCI_CONFIG_REGION_INDEX;
  if (ioctl(function_.get(), VFIO_DEVICE_GET_REGION_INFO, &region) != 0)
    return system_failure("VFIO_DEVICE_GET_REGION_INFO of configuration space");
  configuration_at_ = region.offset;
  vfio_irq_info interrupts{};
  interrupts.argsz = sizeof interrupts;
  interrupts.index = VFIO_PCI_MSIX_IRQ_INDEX;
  if (ioctl(function_.get(), VFIO_DEVICE_GET_IRQ_INFO, &interrupts) != 0)
    return system_failure("VFIO_DEVICE_GET_IRQ_INFO of MSI-X");
  vectors_ = interrupts.count;
  watched_ = file(epoll_create1(EPOLL_CLOEXEC));
  if (!watched_.open()) return system_failure("epoll_create1");
  woken_ = file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!woken_.open()) return system_failure("eventfd");
  if (!watch(woken_.get(), wake_of_others).ok() ||
      !listen_for(VFIO_PCI_REQ_IRQ_INDEX, removal, &removal_).ok() ||
      !listen_for(VFIO_PCI_ERR_IRQ_INDEX, bus_error, &error_).ok())
    return failure{trouble::system, last_refusal()};
  return std::nullopt;
}

}  // namespace freehca::vfio_host

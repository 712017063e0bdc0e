// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// From a PCI address to an open function: container, group, IOMMU, device. Facts from the kernel's
// include/uapi/linux/vfio.h and Documentation/driver-api/vfio.rst.
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

std::optional<failure> check_locked_memory(std::size_t bytes) {
  rlimit limit{};
  if (may_lock_everything() || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes)
    return std::nullopt;
  return failure{trouble::locked_memory_limit, fmt::format("{}; the limit (RLIMIT_MEMLOCK) is {}",
                                                           how_to_lock(bytes), limit.rlim_cur)};
}

/// How often VFIO_IOMMU_GET_INFO is asked again with more room.
constexpr unsigned most_attempts = 4;

/// The I/O virtual addresses that the kernel maps, from the list of capabilities that begins at
/// byte `at` of its answer (0: it has none). None: the list is not whole.
std::optional<std::vector<iova_range>> iova_ranges_of(const std::vector<std::byte>& answer,
                                                      std::size_t at) {
  const auto read = [&](std::size_t from, auto* to) {
    if (from > answer.size() || answer.size() - from < sizeof *to) return false;
    std::memcpy(to, answer.data() + from, sizeof *to);
    return true;
  };
  std::vector<iova_range> ranges;
  for (vfio_info_cap_header header{}; at != 0; at = header.next) {
    // The kernel links them in the order in which they stand (Linux 6.1 vfio_main.c,
    // vfio_info_cap_add). A list that goes back would have no end.
    const std::size_t before = at;
    if (!read(at, &header) || (header.next != 0 && header.next <= before)) return std::nullopt;
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
  return ranges;
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
                                                        std::size_t locked_bytes) {
  if (auto why = unusable(function)) return *why;
  std::unique_ptr<vfio_device> d(new vfio_device);
  // The kernel locks whole pages.
  locked_bytes =
      (locked_bytes + iova_allocator::page - 1) / iova_allocator::page * iova_allocator::page;
  d->locked_bytes_ = locked_bytes;
  if (auto why = d->open_group(function)) return *why;
  if (auto why = check_locked_memory(locked_bytes)) return *why;
  if (auto why = d->attach(function)) return *why;
  if (auto why = d->read_iova_ranges()) return *why;
  if (auto why = d->open_function(function)) return *why;
  return d;
}

std::optional<failure> vfio_device::obstacle(const pci_function& function) {
  if (auto why = unusable(function)) return why;
  vfio_device group_alone;
  return group_alone.open_group(function);
}

std::optional<failure> vfio_device::open_group(const pci_function& function) {
  container_ = file(::open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC));
  if (!container_.open()) {
    if (errno == EACCES || errno == EPERM)
      return failure{trouble::no_permission,
                     "no permission to open /dev/vfio/vfio; run as root, or: "
                     "chmod 0666 /dev/vfio/vfio (it gives no access to any device by itself)"};
    if (errno == ENOENT)
      return failure{trouble::no_iommu,
                     "there is no /dev/vfio/vfio; load VFIO: modprobe vfio-pci vfio_iommu_type1"};
    return system_failure("/dev/vfio/vfio");
  }
  const int version = ioctl(container_.get(), VFIO_GET_API_VERSION);
  if (version < 0) return system_failure("VFIO_GET_API_VERSION");
  if (version != VFIO_API_VERSION)
    return failure{trouble::system, "this kernel's VFIO speaks another version of its interface"};
  const int offered = ioctl(container_.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU);
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
    if (errno == EBUSY)
      return failure{trouble::in_use,
                     fmt::format("another process has {} open ('fuser {}' names it); end it first",
                                 path, path)};
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

std::optional<failure> vfio_device::attach(const pci_function&) {
  const int container = container_.get();
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

std::optional<failure> vfio_device::read_iova_ranges() {
  // A kernel that needs more room says how much, and leaves the capabilities out until it has it.
  // What it needs may have grown by the next call: a group was attached or a mapping was made.
  std::vector<std::byte> answer(sizeof(vfio_iommu_type1_info));
  vfio_iommu_type1_info info{};
  for (unsigned attempts = 0;; ++attempts) {
    info = {};
    info.argsz = static_cast<std::uint32_t>(answer.size());
    std::memcpy(answer.data(), &info, sizeof info);
    if (ioctl(container_.get(), VFIO_IOMMU_GET_INFO, answer.data()) != 0)
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
  const auto ranges = iova_ranges_of(answer, has_capabilities ? info.cap_offset : 0);
  if (!ranges)
    return failure{trouble::system, "VFIO_IOMMU_GET_INFO: a capability ends behind the answer"};
  iova_.emplace(*ranges);
  return std::nullopt;
}

std::optional<failure> vfio_device::open_function(const pci_function& function) {
  const std::string name = function.address.text();
  function_ = file(ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, name.c_str()));
  if (!function_.open()) return system_failure("VFIO_GROUP_GET_DEVICE_FD " + name);
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

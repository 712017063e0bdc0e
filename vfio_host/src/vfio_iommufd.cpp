// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The door iommufd: the function's character device, bound to an iommufd and attached to an I/O
// address space. Facts from Linux 6.12: drivers/vfio/device_cdev.c, drivers/vfio/vfio_main.c,
// drivers/iommu/iommufd.
#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <freehca/vfio_host/iommufd.hpp>
#include <freehca/vfio_host/vfio_device.hpp>

namespace freehca::vfio_host {
namespace {

/// How often IOMMU_IOAS_IOVA_RANGES is asked again with more room.
constexpr unsigned most_range_attempts = 4;

failure iommufd_failure(const std::string& what) {
  return {trouble::system, fmt::format("{}: {}", what, std::strerror(errno))};
}

/// The refusal of VFIO_DEVICE_BIND_IOMMUFD. Its arguments are right, so each errno has the reasons
/// that Linux 6.12 gives it in vfio_df_open, vfio_device_block_group and iommufd_device_bind.
failure bind_failure(const pci_function& function, const std::string& node) {
  const std::string why =
      fmt::format("VFIO_DEVICE_BIND_IOMMUFD of {}: {}", node, std::strerror(errno));
  if (errno == EBUSY && !function.others.empty())
    return {trouble::group_not_viable,
            fmt::format("{}: another process has IOMMU group {} open, or a kernel driver has one "
                        "of its other devices: {}; bind them to vfio-pci too, or to no driver",
                        why, *function.group, fmt::join(function.others, ", "))};
  if (errno == EBUSY)
    return {trouble::in_use,
            fmt::format("{}: another process has the function's IOMMU group open ('fuser "
                        "/dev/vfio/{}' names it); end it first",
                        why, *function.group)};
  if (errno == EINVAL)
    return {trouble::in_use,
            fmt::format("{0}: another process uses the function ('fuser {1}' names it); end it "
                        "first. If there is none, the IOMMU is not coherent with the processors' "
                        "caches: name the other door (--door group)",
                        why, node)};
  if (errno == EPERM)
    return {trouble::no_iommu,
            fmt::format("{}: the IOMMU does not remap interrupts, or another process owns the "
                        "IOMMU group; switch interrupt remapping on in the firmware's setup, or "
                        "accept that a device can forge interrupts: echo 1 > "
                        "/sys/module/iommufd/parameters/allow_unsafe_interrupts",
                        why)};
  return {trouble::system, why};
}

}  // namespace

std::optional<failure> vfio_device::open_character_device(const pci_function& function) {
  if (function.character_device.empty())
    return failure{trouble::no_iommu,
                   fmt::format("{} has no character device of VFIO: the kernel is older than 6.6 "
                               "or was built without VFIO_DEVICE_CDEV; name the other door "
                               "(--door group)",
                               function.address.text())};
  iommu_ = file(::open("/dev/iommu", O_RDWR | O_CLOEXEC));
  if (!iommu_.open()) {
    if (errno == EACCES || errno == EPERM)
      return failure{trouble::no_permission,
                     "no permission to open /dev/iommu; run as root, or: chmod 0666 /dev/iommu (it "
                     "gives no access to any device by itself)"};
    if (errno == ENOENT)
      return failure{trouble::no_iommu, "there is no /dev/iommu; load it: modprobe iommufd"};
    return iommufd_failure("/dev/iommu");
  }
  const std::string node = function.character_device_path();
  function_ = file(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (function_.open()) return std::nullopt;
  if (errno == EACCES || errno == EPERM)
    return failure{
        trouble::no_permission,
        fmt::format("no permission to open {0}; run as root, or give yourself the function: chown "
                    "\"$USER\" {0}",
                    node)};
  return iommufd_failure(node);
}

std::optional<failure> vfio_device::attach_to_address_space(const pci_function& function) {
  iommufd::bind_request bind{};
  bind.argsz = sizeof bind;
  bind.iommufd = iommu_.get();
  if (ioctl(function_.get(), iommufd::bind_iommufd, &bind) != 0)
    return bind_failure(function, function.character_device_path());
  iommufd::alloc_request space{};
  space.size = sizeof space;
  if (ioctl(iommu_.get(), iommufd::ioas_alloc, &space) != 0)
    return iommufd_failure("IOMMU_IOAS_ALLOC");
  address_space_ = space.out_ioas_id;
  iommufd::attach_request attach{};
  attach.argsz = sizeof attach;
  attach.pt_id = address_space_;
  if (ioctl(function_.get(), iommufd::attach_pt, &attach) != 0)
    return iommufd_failure("VFIO_DEVICE_ATTACH_IOMMUFD_PT");
  return std::nullopt;
}

// An address space without devices allows every address. Each device that is attached narrows the
// ranges, so they are read after the attachment.
std::optional<failure> vfio_device::read_address_space_ranges() {
  std::vector<iommufd::range> room(16);
  iommufd::ranges_request request{};
  for (unsigned attempts = 0;; ++attempts) {
    request = {};
    request.size = sizeof request;
    request.ioas_id = address_space_;
    request.num_iovas = static_cast<std::uint32_t>(room.size());
    request.allowed_iovas = reinterpret_cast<std::uintptr_t>(room.data());
    if (ioctl(iommu_.get(), iommufd::ioas_iova_ranges, &request) == 0) break;
    if (errno != EMSGSIZE || request.num_iovas <= room.size() || attempts == most_range_attempts)
      return iommufd_failure("IOMMU_IOAS_IOVA_RANGES");
    room.resize(request.num_iovas);
  }
  if (request.num_iovas > room.size() || request.out_iova_alignment > iova_allocator::page)
    return failure{
        trouble::system,
        fmt::format("IOMMU_IOAS_IOVA_RANGES: {} ranges with an alignment of {} bytes; at "
                    "most {} bytes are supported",
                    request.num_iovas, request.out_iova_alignment, iova_allocator::page)};
  std::vector<iova_range> ranges;
  for (std::uint32_t i = 0; i < request.num_iovas; ++i)
    ranges.push_back({room[i].start, room[i].last});
  iova_.emplace(ranges);
  return std::nullopt;
}

int vfio_device::map_in_address_space(const std::byte* at, std::size_t bytes, std::uint64_t iova,
                                      bool write) {
  iommufd::map_request map{};
  map.size = sizeof map;
  map.flags =
      iommufd::map_fixed_iova | iommufd::map_readable | (write ? iommufd::map_writeable : 0);
  map.ioas_id = address_space_;
  map.user_va = reinterpret_cast<std::uintptr_t>(at);
  map.length = bytes;
  map.iova = iova;
  return ioctl(iommu_.get(), iommufd::ioas_map, &map);
}

int vfio_device::unmap_in_address_space(std::uint64_t iova, std::uint64_t* bytes) {
  iommufd::unmap_request unmap{};
  unmap.size = sizeof unmap;
  unmap.ioas_id = address_space_;
  unmap.iova = iova;
  unmap.length = *bytes;
  const int outcome = ioctl(iommu_.get(), iommufd::ioas_unmap, &unmap);
  *bytes = unmap.length;
  return outcome;
}

}  // namespace freehca::vfio_host

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The part of the kernel's interface that the headers of Linux 6.1 do not have: iommufd (Linux 6.2,
// include/uapi/linux/iommufd.h) and the character devices of VFIO (Linux 6.6,
// include/uapi/linux/vfio.h).
#pragma once

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace freehca::vfio_host::iommufd {

inline constexpr unsigned long bind_iommufd = _IO(';', 100 + 18);  // VFIO_DEVICE_BIND_IOMMUFD
inline constexpr unsigned long attach_pt = _IO(';', 100 + 19);     // VFIO_DEVICE_ATTACH_IOMMUFD_PT
inline constexpr unsigned long ioas_alloc = _IO(';', 0x81);        // IOMMU_IOAS_ALLOC
inline constexpr unsigned long ioas_iova_ranges = _IO(';', 0x84);  // IOMMU_IOAS_IOVA_RANGES
inline constexpr unsigned long ioas_map = _IO(';', 0x85);          // IOMMU_IOAS_MAP
inline constexpr unsigned long ioas_unmap = _IO(';', 0x86);        // IOMMU_IOAS_UNMAP

// Flags of IOMMU_IOAS_MAP.
inline constexpr std::uint32_t map_fixed_iova = 1, map_writeable = 2, map_readable = 4;

/// struct vfio_device_bind_iommufd
struct bind_request {
  std::uint32_t argsz, flags;
  std::int32_t iommufd;
  std::uint32_t out_devid;
};
static_assert(sizeof(bind_request) == 16);

/// struct vfio_device_attach_iommufd_pt. Linux 6.13 appended a PASID, which a flag announces.
struct attach_request {
  std::uint32_t argsz, flags, pt_id;
};
static_assert(sizeof(attach_request) == 12);

/// struct iommu_ioas_alloc
struct alloc_request {
  std::uint32_t size, flags, out_ioas_id;
};
static_assert(sizeof(alloc_request) == 12);

/// struct iommu_iova_range: both ends included.
struct range {
  std::uint64_t start, last;
};
static_assert(sizeof(range) == 16);

/// struct iommu_ioas_iova_ranges
struct ranges_request {
  std::uint32_t size, ioas_id, num_iovas, reserved;
  std::uint64_t allowed_iovas, out_iova_alignment;
};
static_assert(sizeof(ranges_request) == 32 && offsetof(ranges_request, allowed_iovas) == 16);

/// struct iommu_ioas_map
struct map_request {
  std::uint32_t size, flags, ioas_id, reserved;
  std::uint64_t user_va, length, iova;
};
static_assert(sizeof(map_request) == 40 && offsetof(map_request, user_va) == 16);

/// struct iommu_ioas_unmap
struct unmap_request {
  std::uint32_t size, ioas_id;
  std::uint64_t iova, length;
};
static_assert(sizeof(unmap_request) == 24 && offsetof(unmap_request, iova) == 8);

}  // namespace freehca::vfio_host::iommufd

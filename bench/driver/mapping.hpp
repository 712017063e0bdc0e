// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How many instructions Linux takes to map memory for the device, and to end a mapping. mapping.cpp
// replaces ioctl() of the program for that.
#pragma once

#include <cstdint>

#include "counted.hpp"

namespace freehca::bench {

/// From this call on, the ioctls VFIO_IOMMU_MAP_DMA and VFIO_IOMMU_UNMAP_DMA are counted.
void count_mapping(const idler& idle);

/// Instructions inside the counted ioctls so far.
std::uint64_t executed_in_mapping();

}  // namespace freehca::bench

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How many instructions Linux takes to map memory for the device and to keep it out of children,
// and to end both. mapping.cpp replaces ioctl() and madvise() of the program for that.
#pragma once

#include <cstdint>

#include "counted.hpp"

namespace freehca::bench {

/// From this call on, these are counted: VFIO_IOMMU_MAP_DMA, VFIO_IOMMU_UNMAP_DMA, and madvise()
/// with MADV_DONTFORK or MADV_DOFORK.
void count_mapping(const idler& idle);

/// Instructions inside the counted calls so far.
std::uint64_t executed_in_mapping();

}  // namespace freehca::bench

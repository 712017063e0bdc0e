// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/assert.hpp>

namespace freehca {

/// A mapped BAR, or a part of one. In the routed flavour `base` is not dereferenced: it identifies
/// the BAR to the functions in mmio.hpp.
struct mmio_region {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  mmio_region part(std::size_t offset, std::size_t length) const {
    FREEHCA_ASSERT(offset <= bytes && length <= bytes - offset);
    return {base + offset, length};
  }
};

/// Memory that the driver accesses at `host` and the device at `device_address`. It is contiguous
/// for the device.
struct dma_region {
  std::byte* host = nullptr;
  std::uint64_t device_address = 0;
  std::size_t bytes = 0;
  dma_region part(std::size_t offset, std::size_t length) const {
    FREEHCA_ASSERT(offset <= bytes && length <= bytes - offset);
    return {host + offset, device_address + offset, length};
  }
};

}  // namespace freehca

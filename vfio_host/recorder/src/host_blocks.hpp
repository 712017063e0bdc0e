// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <freehca/hal/dma.hpp>

namespace freehca::recorder {

/// The memory that the platform has mapped for the device.
class host_blocks {
 public:
  void add(const dma_region& block) { all_.push_back(block); }
  void remove(std::uint64_t device_address) {
    std::erase_if(all_, [&](const dma_region& b) { return b.device_address == device_address; });
  }
  /// The device address of a byte; nothing if the byte is not mapped for the device.
  std::optional<std::uint64_t> address_of(const std::byte* host) const {
    for (const dma_region& b : all_)
      if (host >= b.host && host < b.host + b.bytes)
        return b.device_address + static_cast<std::uint64_t>(host - b.host);
    return std::nullopt;
  }
  /// The host pointer for a device address; null if a part of the range is not mapped.
  const std::byte* host_of(std::uint64_t address, std::size_t count) const {
    for (const dma_region& b : all_)
      if (address >= b.device_address && address - b.device_address <= b.bytes &&
          count <= b.bytes - (address - b.device_address))
        return b.host + (address - b.device_address);
    return nullptr;
  }

 private:
  std::vector<dma_region> all_;
};

}  // namespace freehca::recorder

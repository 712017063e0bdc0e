// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/model/environment.hpp>

namespace freehca::model {

/// The host's memory as the adapter sees it: DMA through the environment, refused while the host has bus
/// mastering off.
class host_memory {
 public:
  explicit host_memory(environment& surroundings) : environment_(surroundings) {}
  bool read(std::uint64_t address, void* to, std::size_t bytes) {
    return environment_.bus_master() && environment_.dma_read(address, to, bytes);
  }
  bool write(std::uint64_t address, const void* from, std::size_t bytes) {
    return environment_.bus_master() && environment_.dma_write(address, from, bytes);
  }

 private:
  environment& environment_;
};

}  // namespace freehca::model

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The smallest port: it offers nothing, and the driver has to live with that.
#include <freehca/hal/platform.hpp>

namespace freehca {

extern const platform_operations nothing_port;
const platform_operations nothing_port = {
    .map_bar = [](void*, unsigned, mmio_region*) -> status { return driver_error::unsupported; },
    .read_configuration = [](void*, unsigned, std::uint32_t*) -> status {
      return driver_error::unsupported;
    },
    .write_configuration = [](void*, unsigned, std::uint32_t) -> status {
      return driver_error::unsupported;
    },
    .reset_function = [](void*) -> status { return driver_error::unsupported; },
    .set_bus_master = [](void*, bool) -> status { return driver_error::unsupported; },
    .restore_after_reset = [](void*) -> status { return driver_error::unsupported; },
    .allocate_dma = [](void*, std::size_t, std::size_t, dma_region*) -> status {
      return driver_error::unsupported;
    },
    .free_dma = [](void*, const dma_region&) {},
    .map_memory = [](void*, std::byte*, std::size_t, std::uint64_t*) -> status {
      return driver_error::unsupported;
    },
    .unmap_memory = [](void*, std::uint64_t, std::size_t) -> status {
      return driver_error::unsupported;
    },
    .arm_interrupts = [](void*, unsigned, void (*)(void*, unsigned) noexcept, void*) -> status {
      return driver_error::unsupported;
    },
    .disarm_interrupts = [](void*) {},
    .now = [](void*) -> std::uint64_t { return 0; },
    .log = [](void*, const log_record&) {},
    .trace = [](void*, const trace_record&) {},
};

}  // namespace freehca

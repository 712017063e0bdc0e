// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/regions.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/query_fw.hpp>

namespace freehca {

class device;

/// The free-running clock of a device, which also gives the timestamps of completions
/// (extended_completion_queue).
class device_clock {
 public:
  /// Finds the clock by the answers to QUERY_FW and QUERY_HCA, which the caller has sent while the
  /// device is up (Linux 6.1 main.c mlx4_init_hca, map_internal_clock; fw.c mlx4_QUERY_FW_wrapper
  /// sends QUERY_FW to a running device too). Errors: driver_error::unsupported (the device has no
  /// timestamps, or names no rate), transport_error::bad_reply (the clock is not in a BAR that the
  /// driver has mapped).
  status find(const device& in, const layouts::image<layouts::query_fw>& place,
              const layouts::image<layouts::init_hca>& rate);
  /// The ticks of the clock, 64 bits. The device is up, and find() was ok. Any thread may call it.
  std::uint64_t read() const;
  /// The ticks of a microsecond.
  unsigned megahertz() const { return megahertz_; }

 private:
  mmio_region registers_;
  unsigned megahertz_ = 0;
};

}  // namespace freehca

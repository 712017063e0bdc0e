// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_clock.hpp>

#include <freehca/hal/mmio.hpp>

#include <freehca/hca/device.hpp>

namespace freehca {

status device_clock::find(const device& in, const layouts::image<layouts::query_fw>& place,
                          const layouts::image<layouts::init_hca>& rate) {
  using fw = layouts::query_fw;
  megahertz_ = static_cast<unsigned>(rate.get<&layouts::init_hca::hca_core_clock>());
  // A rate of 0 means that there are no timestamps (Linux 6.1 main.c mlx4_init_hca).
  if (megahertz_ == 0 || !in.capabilities().raw.get<&layouts::query_dev_cap::cq_timestamp>())
    return driver_error::unsupported;
  const std::uint64_t bar = place.get<&fw::clock_bar>(), at = place.get<&fw::clock_offset>();
  const mmio_region& bar_of = bar == 0 ? in.bar0_ : in.bar2_;
  if (bar > 1 || at % 4 != 0 || bar_of.bytes < 8 || at > bar_of.bytes - 8)
    return transport_error::bad_reply;
  registers_ = bar_of.part(static_cast<std::size_t>(at), 8);
  return {};
}

std::uint64_t device_clock::read() const {
  // If the upper word changes between the reads, the lower one may belong to either value. The
  // upper word changes once in seconds, so the second round is good (rdma-core
  // providers/mlx4/verbs.c mlx4_read_clock).
  for (bool again = true;; again = false) {
    const std::uint64_t high = mmio::read_32(registers_, 0), low = mmio::read_32(registers_, 4);
    if (mmio::read_32(registers_, 0) == high || !again) return high << 32 | low;
  }
}

}  // namespace freehca

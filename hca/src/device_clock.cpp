// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_clock.hpp>

#include <freehca/hal/mmio.hpp>

#include <freehca/hca/device.hpp>

namespace freehca {

void device_clock::start(device& adapter) {
  if (!startable()) return;
  device_ = &adapter;
  registers_ = {};
  placed_ = false;
  status s = adapter.up() ? status() : status(driver_error::bad_state);
  if (s.ok() && !adapter.capabilities().raw.get<&layouts::query_dev_cap::cq_timestamp>())
    s = driver_error::unsupported;
  if (!s.ok()) return adapter.control_.reactor.refuse(*this, s);
  begin_parts(&advance);
  adapter.control_.reactor.watch(*this);
  adapter.commands().submit(part(place_));
}

void device_clock::advance(stepper& self, status outcome) noexcept {
  auto& o = static_cast<device_clock&>(self);
  if (outcome.ok() && !o.placed_) {
    o.placed_ = true;
    return o.device_->commands().submit(o.part(o.rate_));
  }
  o.complete(outcome.ok() ? o.find() : outcome);
}

status device_clock::find() {
  using fw = layouts::query_fw;
  // A frequency of 0 means that there are no timestamps (Linux 6.1 main.c mlx4_init_hca).
  if (megahertz() == 0) return driver_error::unsupported;
  const std::uint64_t bar = place_.output.get<&fw::clock_bar>(),
                      at = place_.output.get<&fw::clock_offset>();
  const mmio_region in = bar == 0 ? device_->bar0_ : bar == 1 ? device_->bar2_ : mmio_region();
  if (at % 4 != 0 || at >= in.bytes || in.bytes - at < 8) return transport_error::bad_reply;
  registers_ = in.part(static_cast<std::size_t>(at), 8);
  return {};
}

std::uint64_t device_clock::read() const {
  if (registers_.bytes == 0) return 0;
  std::uint32_t high = 0, low = 0;
  // If the upper word has changed meanwhile, the lower one may belong to either value. The upper
  // word changes once in seconds, so the second round is good (rdma-core providers/mlx4/verbs.c
  // mlx4_read_clock).
  for (unsigned round = 0; round < 2; ++round) {
    high = mmio::read_32(registers_, 0);
    low = mmio::read_32(registers_, 4);
    if (mmio::read_32(registers_, 0) == high) break;
  }
  return std::uint64_t{high} << 32 | low;
}

}  // namespace freehca

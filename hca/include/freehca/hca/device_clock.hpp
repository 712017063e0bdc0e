// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/regions.hpp>

namespace freehca {

class device;

/// Finds the free-running clock of a device that is up. The clock also gives the timestamps of
/// completions (extended_completion_queue). The caller owns the operation. A done operation may be
/// restarted.
///
/// Outcomes besides those of the commands: driver_error::unsupported (the device has no timestamps,
/// or names no frequency), ::bad_state (the device is not up), ::cancelled,
/// transport_error::timeout, transport_error::bad_reply (the clock is not in a BAR that the driver
/// has mapped). Sources: Linux 6.1 main.c mlx4_init_hca, map_internal_clock; fw.c
/// mlx4_QUERY_FW_wrapper sends QUERY_FW to a running device too.
class device_clock : public stepper {
 public:
  device_clock() = default;
  ~device_clock() { drop(); }

  void start(device& adapter);

  /// The ticks of the clock, 64 bits. 0 if the operation is not done and ok. Any thread may call it
  /// while the device is up, without the owner.
  std::uint64_t read() const;
  /// The ticks of a microsecond, when the operation is done and ok.
  unsigned megahertz() const {
    return static_cast<unsigned>(rate_.output.get<&layouts::init_hca::hca_core_clock>());
  }

 private:
  status find();
  static void advance(stepper& self, status outcome) noexcept;

  device* device_ = nullptr;
  bool placed_ = false;
  mmio_region registers_;
  firmware_command<commands::query_fw> place_{};
  firmware_command<commands::query_hca> rate_{};
};

}  // namespace freehca

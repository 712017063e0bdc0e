// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/model/options.hpp>

namespace freehca::in_process {

/// The first 256 bytes of an adapter's configuration space, and the effect of a reset on them. The
/// values are those of real cards, if there is a capture (docs/hardware-pci.md).
class configuration_space {
 public:
  static constexpr unsigned command = 0x04, bar0 = 0x10, bar2 = 0x18;
  static constexpr std::uint32_t command_memory = 2, command_master = 4;

  explicit configuration_space(model::variant kind, unsigned ports = 2);

  std::uint32_t read(unsigned offset) const { return now_[offset / 4 % 64]; }
  void write(unsigned offset, std::uint32_t value);
  /// Restores the power-on values: no BARs, no memory decoding, no bus mastering.
  void wipe();
  /// Sets the registers as the machine's firmware does at boot: BARs and memory decoding.
  void configure_as_firmware_does();

  bool memory_decoded() const {
    return (now_[1] & command_memory) != 0 && now_[bar0 / 4] == bar0_value;
  }
  bool bus_master() const { return (now_[1] & command_master) != 0; }
  void set_bus_master(bool allowed);
  /// The number of writes to the gateway at 0x58 and 0x5c. A driver that restores configuration
  /// space must not write there.
  unsigned gateway_writes() const { return gateway_writes_; }

 private:
  static constexpr std::uint32_t bar0_value = 0xc8800004, bar2_value = 0xc800000c;
  std::array<std::uint32_t, 64> power_on_{}, now_{};
  unsigned gateway_writes_ = 0;
};

}  // namespace freehca::in_process

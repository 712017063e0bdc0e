// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/model/options.hpp>

namespace freehca::in_process {

/// The first 256 bytes of configuration space, with what a reset wipes. Values of a real card where
/// there is a capture (docs/hardware-pci.md).
class configuration_space {
 public:
  static constexpr unsigned command = 0x04, bar0 = 0x10, bar2 = 0x18;
  static constexpr std::uint32_t command_memory = 2, command_master = 4;

  explicit configuration_space(model::variant kind, unsigned ports = 2);

  std::uint32_t read(unsigned offset) const { return now_[offset / 4 % 64]; }
  void write(unsigned offset, std::uint32_t value);
  /// Back to power-on: no BARs, no decoding, no mastering.
  void wipe();
  /// As the machine's firmware leaves it at boot.
  void configure_as_firmware_does();

  bool memory_decoded() const {
    return (now_[1] & command_memory) != 0 && now_[bar0 / 4] == bar0_value;
  }
  bool bus_master() const { return (now_[1] & command_master) != 0; }
  void set_bus_master(bool allowed);
  /// How often the gateway at 0x58 and 0x5c was written: a driver that restores must not.
  unsigned gateway_writes() const { return gateway_writes_; }

 private:
  static constexpr std::uint32_t bar0_value = 0xc8800004, bar2_value = 0xc800000c;
  std::array<std::uint32_t, 64> power_on_{}, now_{};
  unsigned gateway_writes_ = 0;
};

}  // namespace freehca::in_process

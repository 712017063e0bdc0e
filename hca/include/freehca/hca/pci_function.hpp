// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/platform.hpp>

namespace freehca {

/// The adapter as a PCI function: its bus mastering, its reset by the platform, and its
/// configuration space, which a reset through the register clears.
class pci_function {
 public:
  static constexpr unsigned identity = 0x00, revision = 0x08, subsystem = 0x2c;

  /// `known` is the part of the platform's table that the driver knows. It outlives this object. If
  /// `given` is the same function as before, configuration space that an earlier reset has cleared
  /// is still to be restored.
  void open(const platform& given, const platform_operations& known);
  status read(unsigned offset, std::uint32_t& value) const {
    return known_->read_configuration(context_, offset, &value);
  }
  /// Switches bus mastering on or off. When it has switched bus mastering off, everything that the
  /// function wrote before has arrived in memory.
  status set_bus_master(bool allowed) const;
  /// Resets the function by the platform, which restores configuration space.
  /// driver_error::unsupported if the platform has no reset.
  status reset();

  /// Saves configuration space, to restore it after a reset through the register. If it is cleared
  /// already, save() keeps the earlier copy.
  status save();
  bool saved() const { return saved_whole_; }
  /// Called before the reset register is written. Without an earlier save() nothing will be
  /// restored.
  void begin_wipe() { wiped_ = saved_whole_; }
  bool wiped() const { return wiped_; }
  /// True if the function answers in configuration space.
  bool answers() const;
  /// Restores configuration space. Bus mastering stays off.
  status restore();
  /// Restores configuration space that an earlier reset cleared, if the device answered too late
  /// then. transport_error::gone if the device still does not answer.
  status repair();

 private:
  static constexpr unsigned dwords = 64;
  void* context_ = nullptr;
  const platform_operations* given_ = nullptr;
  const platform_operations* known_ = nullptr;
  std::uint32_t saved_[dwords] = {};
  bool saved_whole_ = false;
  bool wiped_ = false;  // configuration space is cleared, and saved_ is to be restored
};

}  // namespace freehca

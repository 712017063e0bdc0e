// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/platform.hpp>

namespace freehca {

/// The adapter as a PCI function: bus mastering, its reset by the platform, and the configuration
/// space that a reset through its register wipes.
class pci_function {
 public:
  static constexpr unsigned identity = 0x00, revision = 0x08, subsystem = 0x2c;

  /// `known` is what the driver knows of the platform's operations; it outlives this. What a reset
  /// wiped of the same function before is still to be put back.
  void open(const platform& given, const platform_operations& known);
  status read(unsigned offset, std::uint32_t& value) const {
    return known_->read_configuration(context_, offset, &value);
  }
  /// Ends when what the function wrote before it was stopped has arrived.
  status set_bus_master(bool allowed) const;
  /// By the platform, which puts back what that wipes. driver_error::unsupported: it has none.
  status reset();

  /// What is to be put back after a reset through the register; not of one that is wiped already.
  status save();
  bool saved() const { return saved_whole_; }
  /// The register is about to be written. Without an earlier save() there is nothing to put back.
  void begin_wipe() { wiped_ = saved_whole_; }
  bool wiped() const { return wiped_; }
  /// The function answers again.
  bool answers() const;
  /// Leaves bus mastering off.
  status restore();
  /// What an earlier reset wiped and could not put back, because the device answered too late.
  status repair();

 private:
  static constexpr unsigned dwords = 64;
  void* context_ = nullptr;
  const platform_operations* given_ = nullptr;
  const platform_operations* known_ = nullptr;
  std::uint32_t saved_[dwords] = {};
  bool saved_whole_ = false;
  bool wiped_ = false;  // saved_ is still to be put back
};

}  // namespace freehca

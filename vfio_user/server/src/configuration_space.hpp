// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "identity.hpp"

namespace freehca::device_server {

/// Options for the power-on values of configuration space.
struct configuration_options {
  const identity* card = &identities[0];
  unsigned ports = 2;
  std::uint16_t device_id = 0;  ///< 0: the card's
  std::uint32_t class_code = 0;
  std::uint64_t bar2_bytes = 8u << 20;
  bool function_level_reset = true;
  bool msix = true;  ///< false: no capability MSI-X, so that drivers use INTx
  std::uint64_t node_guid = 0;
};

/// Offsets of the capabilities: the chain of a real card (docs/hardware-pci.md).
inline constexpr unsigned power_management_at = 0x40, vpd_at = 0x48, gateway_address_at = 0x58,
                          gateway_data_at = 0x5c, express_at = 0x60, msix_at = 0x9c,
                          vendor_specific_at = 0xc0, ari_at = 0x100, serial_number_at = 0x148,
                          error_reporting_at = 0x154, secondary_express_at = 0x18c;

inline constexpr unsigned msix_vectors = 128;
inline constexpr std::uint64_t register_bar_bytes = 1u << 20;
inline constexpr std::uint64_t msix_table_at = 0x7c000, msix_pending_at = 0x7d000;
inline constexpr std::uint64_t msix_table_bytes = 16 * msix_vectors,
                               msix_pending_bytes = msix_vectors / 8;

/// The 4096 bytes, with a mask of the writeable bits. Other effects of a write are in
/// adapter_function.
class configuration_space {
 public:
  static constexpr unsigned bytes = 4096;

  explicit configuration_space(const configuration_options& how);

  std::uint32_t read(unsigned offset, unsigned size) const;
  void write(unsigned offset, std::uint32_t value, unsigned size);
  /// The same, also for bits that are not writeable.
  void set(unsigned offset, std::uint32_t value, unsigned size);
  void reset(bool function_level);

  /// The whole space, and a count of its possible changes by the driver.
  const std::array<std::uint8_t, bytes>& image() const { return now_; }
  unsigned changes() const { return changes_; }
  /// Restores the contents of another configuration space.
  void restore(const std::array<std::uint8_t, bytes>& image) { now_ = image; }

  template <class Archive>
  void transfer_state(Archive& archive) {
    archive.bytes(now_.data(), now_.size());
    ++changes_;
  }

  bool memory_space() const { return (command() & 2) != 0; }
  bool bus_master() const { return (command() & 4) != 0; }
  bool intx_disabled() const { return (command() & 0x400) != 0; }
  void show_intx(bool asserted);
  bool in_d0() const;
  bool has_msix() const { return has_msix_; }
  bool msix_enabled() const { return (read(msix_at + 2, 2) & 0x8000) != 0; }
  bool msix_masked() const { return (read(msix_at + 2, 2) & 0x4000) != 0; }
  void enable_msix(bool enabled);

 private:
  std::uint32_t command() const { return read(4, 2); }
  void may_write(unsigned offset, std::uint32_t mask, unsigned size);
  void clears(unsigned offset, std::uint32_t mask, unsigned size);
  void capability(unsigned at, std::uint8_t id, unsigned next);
  void extended_capability(unsigned at, std::uint16_t id, unsigned version, unsigned next);
  void make_header(const configuration_options& how);
  void make_capabilities(const configuration_options& how);
  void make_express(const configuration_options& how);
  void make_link(const identity& card);
  void make_error_reporting();

  std::array<std::uint8_t, bytes> now_{}, power_on_{};
  unsigned changes_ = 0;
  bool has_msix_;
  std::array<std::uint8_t, bytes> writable_{};  ///< bits that a write sets and clears
  std::array<std::uint8_t, bytes> cleared_{};   ///< bits that a write of 1 clears
};

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace freehca::device_server {

/// The identity of one variant in configuration space. docs/hardware-pci.md has the sources. The
/// glue of QEMU's device has the same values (qemu/qom/identity.c); tests/qom/test_device_server.py
/// checks that they are equal.
struct identity {
  std::string_view name;  ///< value of the setting "variant"
  std::uint16_t device_id;
  std::array<std::uint16_t, 2> subsystem_id;  ///< for one port, for two ports
  std::uint32_t class_code;                   ///< 24 bits
  std::uint8_t revision;
  bool gen3;                 ///< false: PCIe 2.0, without AER and secondary PCIe
  std::uint8_t max_payload;  ///< as in DevCap: 1 is 256, 2 is 512 bytes
  std::array<std::string_view, 2> product_name;  ///< in VPD; for one port, for two ports
  std::array<std::string_view, 2> part_number;
  std::array<std::string_view, 2> engineering_change;
  std::string_view link_text;
};

/// In the order of freehca_model_options::variant.
extern const std::array<identity, 3> identities;

inline constexpr std::uint16_t vendor_id = 0x15b3;

}  // namespace freehca::device_server

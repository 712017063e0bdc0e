// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace freehca::device_server {

/// What configuration space says about one kind of card: docs/hardware-pci.md has the sources. The
/// glue of QEMU's device has the same (qemu/qom/identity.c); tests/qom/test_device_server.py holds
/// the two together.
struct identity {
  std::string_view name;  ///< value of the setting "variant"
  std::uint16_t device_id;
  std::array<std::uint16_t, 2> subsystem_id;  ///< of a card with one port, with two
  std::uint32_t class_code;                   ///< 24 bits
  std::uint8_t revision;
  bool gen3;                                     ///< else PCIe 2.0: no AER, no secondary PCIe
  std::uint8_t max_payload;                      ///< as in DevCap: 1 is 256, 2 is 512 bytes
  std::array<std::string_view, 2> product_name;  ///< VPD, by ports as above
  std::array<std::string_view, 2> part_number;
  std::array<std::string_view, 2> engineering_change;
  std::string_view link_text;
};

/// In the order of freehca_model_options::variant.
extern const std::array<identity, 3> identities;

inline constexpr std::uint16_t vendor_id = 0x15b3;

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/model/options.hpp>

namespace freehca::model {

/// What differs between the variants, as real cards report it (docs/hardware.md, captures).
struct identity {
  std::uint16_t firmware_major, firmware_minor, firmware_subminor;
  std::uint32_t hardware_id;      ///< register 0xf0014
  std::uint16_t device_id;        ///< PCI
  std::uint8_t hardware_version;  ///< NodeInfo Revision
  const char* board_id;           ///< 16 characters at most
  unsigned clock_mhz;             ///< 0: no readable clock, no timestamps
  bool large_entries;             ///< 64-byte CQEs and EQEs
  bool device_managed_steering;
};

// Board identifiers: captures; none was captured of a ConnectX-3 Pro, which borrows the
// one of its predecessor.
inline constexpr identity identity_connectx3_pro{
    2, 42, 5700, 0x1f7, 0x1007, 0x00, "MT_1090120019", 427, true, true};
inline constexpr identity identity_connectx3{
    2, 42, 5000, 0x101f5, 0x1003, 0x01, "MT_1090120019", 427, true, true};
inline constexpr identity identity_connectx2{
    2, 9, 1000, 0xb00190, 0x673c, 0xb0, "MT_0DD0110009", 0, false, false};

constexpr const identity& identity_of(variant v) {
  switch (v) {
    case variant::connectx3:
      return identity_connectx3;
    case variant::connectx2:
      return identity_connectx2;
    case variant::connectx3_pro:
      break;
  }
  return identity_connectx3_pro;
}

/// The free-running clock of variant `v`, in its own ticks, `nanoseconds` after it began.
constexpr std::uint64_t clock_ticks(variant v, std::uint64_t nanoseconds) {
  const std::uint64_t mhz = identity_of(v).clock_mhz;
  return nanoseconds / 1000 * mhz + nanoseconds % 1000 * mhz / 1000;
}

}  // namespace freehca::model

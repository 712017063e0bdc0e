// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The PCI functions that are adapters of ours.
#pragma once

#include <cstdint>

namespace freehca::layouts {

inline constexpr std::uint16_t mellanox_vendor = 0x15b3;

enum class adapter_generation : std::uint8_t { connectx2, connectx3, connectx3_pro };

struct pci_device {
  std::uint16_t device;
  adapter_generation generation;
  const char* name;
};

/// Linux 6.1 mlx4 main.c, mlx4_pci_table; names as pci.ids has them. The ConnectX of the first
/// generation and the virtual functions (1002, 1004) are not ours to drive.
inline constexpr pci_device pci_devices[] = {
    {0x6368, adapter_generation::connectx2, "ConnectX-2 EN"},
    {0x6372, adapter_generation::connectx2, "ConnectX-2 EN"},
    {0x6732, adapter_generation::connectx2, "ConnectX-2"},
    {0x673c, adapter_generation::connectx2, "ConnectX-2"},
    {0x6746, adapter_generation::connectx2, "ConnectX-2"},
    {0x6750, adapter_generation::connectx2, "ConnectX-2 EN"},
    {0x675a, adapter_generation::connectx2, "ConnectX-2 EN"},
    {0x6764, adapter_generation::connectx2, "ConnectX-2 EN"},
    {0x676e, adapter_generation::connectx2, "ConnectX-2"},
    {0x6778, adapter_generation::connectx2, "ConnectX-2 VPI"},
    {0x1003, adapter_generation::connectx3, "ConnectX-3"},
    {0x1007, adapter_generation::connectx3_pro, "ConnectX-3 Pro"},
};

/// Null: no adapter of ours.
constexpr const pci_device* find_pci_device(std::uint32_t vendor, std::uint32_t device) {
  if (vendor != mellanox_vendor) return nullptr;
  for (const pci_device& d : pci_devices)
    if (d.device == device) return &d;
  return nullptr;
}

}  // namespace freehca::layouts

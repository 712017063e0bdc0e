// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/pci_address.hpp>

namespace freehca::vfio_host {

/// A PCI function as sysfs shows it.
struct pci_function {
  pci_address address;
  std::uint16_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem = 0;
  std::string driver;               ///< empty: none
  std::optional<unsigned> group;    ///< IOMMU group
  std::vector<std::string> others;  ///< the other members of the group, "0000:00:01.0 (pcieport)"
  /// The name of its character device of VFIO, "vfio0" (Linux 6.6). Empty: it has none.
  std::string character_device;

  /// "ConnectX-3 Pro" ...; null if this is not an mlx4-class physical function.
  const char* model() const;
  std::string character_device_path() const { return "/dev/vfio/devices/" + character_device; }
};

/// The place where sysfs is mounted; tests use their own.
struct sysfs {
  std::string root = "/sys";

  /// Reads a function. Fails with trouble::absent.
  outcome<pci_function> read(const pci_address& address) const;
  /// All mlx4-class functions, by address.
  std::vector<pci_function> adapters() const;
};

/// Checks that the driver supports the function and that it is bound to vfio-pci. Failures are
/// trouble::not_mlx4, ::wrong_driver and ::no_iommu. Each message has the commands that remove the
/// obstacle.
std::optional<failure> unusable(const pci_function& f);

/// The commands that bind the function to vfio-pci.
std::string how_to_bind(const pci_address& address);

}  // namespace freehca::vfio_host

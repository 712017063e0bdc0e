// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <string_view>

#include <freehca/vfio_host/failure.hpp>

namespace freehca::vfio_host {

/// The address of a PCI function: domain, bus, device, function.
struct pci_address {
  unsigned domain = 0, bus = 0, device = 0, function = 0;

  /// As sysfs writes it: 0000:03:00.0
  std::string text() const;
  friend bool operator==(const pci_address&, const pci_address&) = default;
};

/// Parses "0000:03:00.0" or "03:00.0", with hexadecimal digits of either case. Fails with
/// trouble::malformed_address.
outcome<pci_address> parse_pci_address(std::string_view text);

}  // namespace freehca::vfio_host

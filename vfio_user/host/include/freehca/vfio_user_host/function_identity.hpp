// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>

namespace freehca::vfio_user_host {

/// The identity of a server's PCI function, read from its configuration space.
struct function_identity {
  std::uint16_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem = 0;
  std::uint8_t revision = 0;
  unsigned vectors = 0;  ///< of MSI-X
};

/// Reads the identity from the server at the socket, without mapping, writing or resetting
/// anything. Returns 0, or an errno with the reason in `why`. EBUSY: the server has another client.
int read_identity(const std::string& socket, function_identity& to, std::string& why);

}  // namespace freehca::vfio_user_host

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>

namespace freehca::vfio_user_host {

/// The function that a server of vfio-user has, by its configuration space.
struct function_identity {
  std::uint16_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem = 0;
  std::uint8_t revision = 0;
  unsigned vectors = 0;  ///< of MSI-X
};

/// Asks the server at the socket. Nothing is mapped, written or reset. 0, or an errno, and `why` in
/// words; EBUSY: another client is served.
int read_identity(const std::string& socket, function_identity& to, std::string& why);

}  // namespace freehca::vfio_user_host

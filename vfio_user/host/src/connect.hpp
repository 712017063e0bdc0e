// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/vfio_user/client.hpp>

namespace freehca::vfio_user_host {

/// Connects to the server of a PCI function at the socket. Returns 0, or an errno with the reason
/// in `why`.
int connect_to(const std::string& socket, vfio_user::client& with, std::string& why);

}  // namespace freehca::vfio_user_host

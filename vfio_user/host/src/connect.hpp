// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/vfio_user/client.hpp>

namespace freehca::vfio_user_host {

/// Connects to the server of a PCI function at the socket. 0, or an errno, and `why` in words.
int connect_to(const std::string& socket, vfio_user::client& with, std::string& why);

}  // namespace freehca::vfio_user_host

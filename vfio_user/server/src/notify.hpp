// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::device_server {

/// Tells the service manager, when the environment names one (NOTIFY_SOCKET, sd_notify(3)).
void tell_manager(const std::string& what);

/// Sockets that the service manager listens on for this process (LISTEN_FDS, sd_listen_fds(3)). The
/// one that it names "control" is the control socket, the other the clients'.
struct passed_sockets {
  vfio_user::descriptor device, control;
  /// The control socket was made by a process of this program that is no more.
  bool own_control = false;
};

/// Takes them, once. "", or what is wrong with them.
std::string take_passed_sockets(passed_sockets& to);

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::device_server {

/// The service manager, if the environment names one (NOTIFY_SOCKET, sd_notify(3)).
class service_manager {
 public:
  /// Connects to the manager's socket. A closed process can no longer do this.
  void find();
  /// Sends a state, if a manager was found.
  void tell(const std::string& what);

 private:
  vfio_user::descriptor socket_;
};

/// Sockets on which the service manager listens for this process (LISTEN_FDS, sd_listen_fds(3)).
/// The socket with the name "control" is the control socket, the other one is the clients' socket.
struct passed_sockets {
  vfio_user::descriptor device, control;
  /// An earlier process of this program created the control socket.
  bool own_control = false;
};

/// Takes the sockets; must be called only once. Returns "", or a message.
std::string take_passed_sockets(passed_sockets& to);

}  // namespace freehca::device_server

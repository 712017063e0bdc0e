// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/socket.h>

#include <string>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::wires {

/// Where a socket is, or leads to.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// A path of a unix socket. "", or why it is none (too long).
std::string unix_address(const std::string& path, socket_address& to);
/// A path with a slash in it, or HOST:PORT. "", or why it is neither.
std::string read_address(const std::string& text, int type, socket_address& to);

/// Binds a unix socket where nothing is yet; what a dead server left there is taken away. "", or
/// the reason.
std::string bind_unix(int socket, const std::string& path);

/// A listener at an address. `path` is that of its socket, which goes with whoever has it; "" where
/// there is none. "", or the reason.
std::string listen_at(const std::string& address, int backlog, vfio_user::descriptor& to,
                      std::string& path);

/// A socket that waits for nothing. Not open, and errno, when there is none.
vfio_user::descriptor make_socket(int family, int type);

}  // namespace freehca::wires

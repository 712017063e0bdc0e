// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include <freehca/wires/descriptor.hpp>

namespace freehca::wires {

/// The address of a socket.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  int family() const { return storage.ss_family; }
  /// The TCP or UDP port in host order; 0 for other addresses.
  std::uint16_t port() const;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Makes the address of a unix socket. Returns "", or the reason for a refusal (the path is too
/// long).
std::string unix_address(const std::string& path, socket_address& to);
/// Parses a path with a slash in it, or HOST:PORT. A host may have several addresses, which are in
/// the resolver's order; there is at least one. Returns "", or the reason for a refusal.
std::string read_addresses(const std::string& text, int type, std::vector<socket_address>& to);
/// The first of them.
std::string read_address(const std::string& text, int type, socket_address& to);

/// Binds a unix socket to a path that does not exist. Removes a socket that a dead server has left.
/// Returns "", or the reason for a failure.
std::string bind_unix(int socket, const std::string& path);

/// Creates a listener at an address. `path` receives the path of a unix socket, which the caller
/// must remove later, or "" for other sockets. Returns "", or the reason for a failure.
std::string listen_at(const std::string& address, int backlog, wires::descriptor& to,
                      std::string& path);

/// Creates a non-blocking socket. On failure it is not open, and errno has the reason.
wires::descriptor make_socket(int family, int type);

}  // namespace freehca::wires

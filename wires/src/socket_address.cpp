// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/socket_address.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

namespace freehca::wires {

std::uint16_t socket_address::port() const {
  // The C library's structures of both families have the port at the same place.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  if (family() != AF_INET && family() != AF_INET6) return 0;
  sockaddr_in address{};
  std::memcpy(&address, &storage, sizeof address);
  return ntohs(address.sin_port);
}

std::string unix_address(const std::string& path, socket_address& to) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return "a path is wanted";
  if (path.size() >= sizeof address.sun_path)
    return fmt::format("{}: a path of {} bytes; a socket's has {} at most", path, path.size(),
                       sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  std::memcpy(&to.storage, &address, sizeof address);
  to.bytes = sizeof address;
  return "";
}

std::string read_address(const std::string& text, int type, socket_address& to) {
  std::vector<socket_address> all;
  std::string why = read_addresses(text, type, all);
  if (why.empty()) to = all.front();
  return why;
}

std::string read_addresses(const std::string& text, int type, std::vector<socket_address>& to) {
  to.clear();
  if (text.find('/') != std::string::npos) return unix_address(text, to.emplace_back());
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon + 1 == text.size())
    return fmt::format("{}: a path with a slash in it, or HOST:PORT", text);
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int why =
      getaddrinfo(text.substr(0, colon).c_str(), text.substr(colon + 1).c_str(), &hints, &found);
  if (why != 0) return fmt::format("{}: {}", text, gai_strerror(why));
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    socket_address& address = to.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.bytes = one->ai_addrlen;
  }
  freeaddrinfo(found);
  return "";
}

wires::descriptor make_socket(int family, int type) {
  return wires::descriptor(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

namespace {

// Whether no process listens on the socket: then a killed server has left it.
bool is_dead_socket(const std::string& path, const socket_address& address) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) return false;
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const wires::descriptor probe = make_socket(AF_UNIX, type);
    if (connect(probe.get(), address.get(), address.bytes) == 0) return false;
    if (errno != ECONNREFUSED && errno != EPROTOTYPE) return false;
  }
  return true;
}

}  // namespace

std::string bind_unix(int socket, const std::string& path) {
  socket_address address;
  if (std::string why = unix_address(path, address); !why.empty()) return why;
  if (bind(socket, address.get(), address.bytes) == 0) return "";
  if (errno == EADDRINUSE && is_dead_socket(path, address)) {
    unlink(path.c_str());
    if (bind(socket, address.get(), address.bytes) == 0) return "";
  }
  if (errno == EADDRINUSE)
    return fmt::format("{}: it exists, and is not a socket that a dead server left", path);
  return fmt::format("{}: {}", path, std::strerror(errno));
}

std::string listen_at(const std::string& address, int backlog, wires::descriptor& to,
                      std::string& path) {
  socket_address at;
  if (std::string why = read_address(address, SOCK_STREAM, at); !why.empty()) return why;
  to = make_socket(at.family(), SOCK_STREAM);
  const int yes = 1;
  if (at.family() == AF_UNIX) {
    if (std::string why = bind_unix(to.get(), address); !why.empty()) return why;
    path = address;
  } else {
    setsockopt(to.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(to.get(), at.get(), at.bytes) != 0)
      return fmt::format("{}: {}", address, std::strerror(errno));
  }
  return listen(to.get(), backlog) == 0 ? "" : fmt::format("{}: {}", address, std::strerror(errno));
}

}  // namespace freehca::wires

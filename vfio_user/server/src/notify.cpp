// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "notify.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <freehca/wires/socket_address.hpp>

#include "report.hpp"

namespace freehca::device_server {
namespace {

constexpr int first_passed = 3;  // SD_LISTEN_FDS_START

std::string_view environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

int count_in(std::string_view text) {
  int value = -1;
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  return why == std::errc() && end == text.data() + text.size() ? value : -1;
}

// Takes the next name of a list that is separated by colons.
std::string_view next_name(std::string_view& list) {
  const std::size_t colon = list.find(':');
  const std::string_view name = list.substr(0, colon);
  list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
  return name;
}

int option(int socket, int name) {
  int value = 0;
  socklen_t bytes = sizeof value;
  return getsockopt(socket, SOL_SOCKET, name, &value, &bytes) == 0 ? value : -1;
}

bool is_listening_stream(int socket) {
  return option(socket, SO_DOMAIN) == AF_UNIX && option(socket, SO_TYPE) == SOCK_STREAM &&
         option(socket, SO_ACCEPTCONN) == 1;
}

}  // namespace

// A name that begins with @ is an abstract address: its first byte is zero.
void service_manager::find() {
  const std::string_view path = environment_value("NOTIFY_SOCKET");
  if (path.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    report("NOTIFY_SOCKET is too long for a socket's path");
    return;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  socket_ = wires::make_socket(AF_UNIX, SOCK_DGRAM);
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return;
  report(fmt::format("NOTIFY_SOCKET {}: {}", path, std::strerror(errno)));
  socket_.close();
}

void service_manager::tell(const std::string& what) {
  if (socket_.open() && send(socket_.get(), what.data(), what.size(), MSG_NOSIGNAL) < 0)
    report(fmt::format("NOTIFY_SOCKET: {}: {}", what, std::strerror(errno)));
}

std::string take_passed_sockets(passed_sockets& to) {
  if (count_in(environment_value("LISTEN_PID")) != getpid()) return "";
  const int count = count_in(environment_value("LISTEN_FDS"));
  if (count < 1) return "";
  std::string_view names = environment_value("LISTEN_FDNAMES");
  for (int file = first_passed; file < first_passed + count; ++file) {
    vfio_user::descriptor& place = next_name(names) == "control" ? to.control : to.device;
    if (place.open())
      return fmt::format(
          "LISTEN_FDS={}: one socket for clients, and one that is named 'control', are taken",
          count);
    if (!is_listening_stream(file))
      return fmt::format("LISTEN_FDS: descriptor {} is no unix stream socket that listens", file);
    place = vfio_user::descriptor(file);
    fcntl(file, F_SETFD, FD_CLOEXEC);
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
  }
  return "";
}

}  // namespace freehca::device_server

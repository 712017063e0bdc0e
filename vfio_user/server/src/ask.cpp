// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ask.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <freehca/vfio_user/descriptor.hpp>
#include <freehca/wires/socket_address.hpp>

#include "command_line.hpp"
#include "report.hpp"

namespace freehca::device_server {
namespace {

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// Reads up to the end of the line. If the connection is closed before, the text has no line end.
std::string read_line(int socket) {
  std::string line;
  std::array<char, 4096> piece;
  while (line.empty() || line.back() != '\n') {
    const ssize_t got = recv(socket, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    line.append(piece.data(), static_cast<std::size_t>(got));
  }
  return line;
}

}  // namespace

int ask_server(const std::string& path, const std::string& request) {
  if (request.find_first_not_of(" \t\r\n") == std::string::npos) {
    report("--ask: a request is wanted, as in {\"request\":\"help\"}");
    return usage_error;
  }
  wires::socket_address address;
  if (const std::string why = wires::unix_address(path, address); !why.empty()) {
    report(fmt::format("--control {}", why));
    return 1;
  }
  const vfio_user::descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::string line = request;
  for (char& c : line)
    if (c == '\n') c = ' ';  // a request is one line, and JSON permits any white space
  if (connect(connection.get(), address.get(), address.bytes) != 0 ||
      !send_all(connection.get(), line + '\n')) {
    report(fmt::format("--control {}: {}", path, std::strerror(errno)));
    return 1;
  }
  const std::string answer = read_line(connection.get());
  if (answer.empty() || answer.back() != '\n') {
    report(fmt::format("--control {}: the server has gone without an answer", path));
    return 1;
  }
  fmt::print("{}", answer);
  const auto found = nlohmann::json::parse(answer, nullptr, false);
  return found.is_object() && found.value("ok", false) ? 0 : refused;
}

}  // namespace freehca::device_server

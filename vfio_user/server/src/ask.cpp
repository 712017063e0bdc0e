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

namespace {

// Sends a request and receives the line of its answer. Returns "", or a message.
std::string exchange(const std::string& path, const std::string& request, std::string& answer) {
  wires::socket_address address;
  if (std::string why = wires::unix_address(path, address); !why.empty()) return why;
  const vfio_user::descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::string line = request;
  for (char& c : line)
    if (c == '\n') c = ' ';  // a request is one line, and JSON permits any white space
  if (connect(connection.get(), address.get(), address.bytes) != 0 ||
      !send_all(connection.get(), line + '\n'))
    return fmt::format("{}: {}", path, std::strerror(errno));
  answer = read_line(connection.get());
  return !answer.empty() && answer.back() == '\n'
             ? ""
             : fmt::format("{}: the server has gone without an answer", path);
}

}  // namespace

int ask_server(const std::string& path, const std::string& request) {
  if (request.find_first_not_of(" \t\r\n") == std::string::npos) {
    report("--ask: a request is wanted, as in {\"request\":\"help\"}");
    return usage_error;
  }
  std::string answer;
  if (const std::string why = exchange(path, request, answer); !why.empty()) {
    report(fmt::format("--control {}", why));
    return 1;
  }
  fmt::print("{}", answer);
  const auto found = nlohmann::json::parse(answer, nullptr, false);
  return found.is_object() && found.value("ok", false) ? 0 : refused;
}

int upgrade_server(const std::string& path) {
  std::string answer;
  if (const std::string why = exchange(path, R"({"request":"upgrade"})", answer); !why.empty()) {
    report(fmt::format("--upgrade {}", why));
    return 1;
  }
  const auto found = nlohmann::json::parse(answer, nullptr, false);
  if (found.is_object() && found.value("ok", false)) {
    report(fmt::format("{} has taken over", found.value("version", "the new build")));
    return 0;
  }
  report(fmt::format("--upgrade {}: the server goes on as before: {}", path,
                     found.is_object() ? found.value("error", answer) : answer));
  return refused;
}

}  // namespace freehca::device_server

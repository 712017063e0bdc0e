// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "control_caller.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>

namespace freehca::vfio_user {

control_caller::control_caller(const std::string& path)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    socket_.close();
}

bool control_caller::send(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t sent =
        ::send(socket_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

std::optional<std::string> control_caller::line() {
  while (true) {
    if (const std::size_t end = arrived_.find('\n'); end != std::string::npos) {
      std::string found = arrived_.substr(0, end);
      arrived_.erase(0, end + 1);
      return found;
    }
    std::array<char, 4096> piece;
    const ssize_t got = recv(socket_.get(), piece.data(), piece.size(), 0);
    if (got <= 0) return std::nullopt;
    arrived_.append(piece.data(), static_cast<std::size_t>(got));
  }
}

nlohmann::json control_caller::ask(const std::string& request) {
  if (!send(request + '\n')) return nullptr;
  const auto answer = line();
  return answer ? nlohmann::json::parse(*answer, nullptr, false) : nlohmann::json();
}

nlohmann::json control_caller::ask(const std::string& name, nlohmann::json arguments) {
  arguments["request"] = name;
  return ask(arguments.dump());
}

void control_caller::finish() {
  shutdown(socket_.get(), SHUT_WR);
}

bool control_caller::hung_up() {
  return !line().has_value();
}

}  // namespace freehca::vfio_user

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "control_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <freehca/wires/socket_address.hpp>

namespace freehca::device_server {

control_socket::~control_socket() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::string control_socket::listen(const std::string& path) {
  listener_ = wires::make_socket(AF_UNIX, SOCK_STREAM);
  if (!listener_.open()) return std::strerror(errno);
  if (std::string why = wires::bind_unix(listener_.get(), path); !why.empty()) return why;
  path_ = path;
  if (::listen(listener_.get(), static_cast<int>(most_clients)) != 0)
    return fmt::format("{}: {}", path, std::strerror(errno));
  return "";
}

void control_socket::watch(std::vector<pollfd>& to) const {
  to.push_back({listener_.get(), POLLIN, 0});
  for (const control_client& one : clients_) to.push_back({one.socket(), one.events(), 0});
}

std::uint64_t control_socket::deadline() const {
  std::uint64_t first = ~std::uint64_t{0};
  for (const control_client& one : clients_) first = std::min(first, one.deadline());
  return first;
}

void control_socket::serve(std::span<const pollfd> watched, std::uint64_t now,
                           const line_answerer& answerer) {
  std::size_t place = 1;
  std::erase_if(clients_, [&](control_client& one) {
    return !one.work(watched[place++].revents, now, answerer);
  });
  if (watched[0].revents != 0) accept_one();
}

void control_socket::accept_one() {
  vfio_user::descriptor who(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!who.open()) return;
  if (clients_.size() < most_clients) {
    clients_.emplace_back(std::move(who));
    return;
  }
  const std::string words = fmt::format(
      "{{\"ok\":false,\"error\":\"{} clients are served already: come again\"}}\n", most_clients);
  static_cast<void>(!send(who.get(), words.data(), words.size(), MSG_NOSIGNAL));
}

}  // namespace freehca::device_server

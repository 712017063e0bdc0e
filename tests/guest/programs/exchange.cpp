// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "exchange.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

void fail(const char* what) {
  fmt::print(stderr, "{}: {}\n", what, std::strerror(errno));
  std::exit(EXIT_FAILURE);
}

exchange::exchange(const std::string& server, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  socket_ = socket(AF_INET, SOCK_STREAM, 0);
  if (socket_ < 0) fail("socket");
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  if (!server.empty()) {
    if (inet_pton(AF_INET, server.c_str(), &address.sin_addr) != 1) {
      errno = EINVAL;
      fail("the server's IPv4 address");
    }
    if (connect(socket_, where, sizeof address) != 0) fail("connect");
    return;
  }
  const int listener = socket_, again = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  if (bind(listener, where, sizeof address) != 0) fail("bind");
  if (listen(listener, 1) != 0) fail("listen");
  socket_ = accept(listener, nullptr, nullptr);
  if (socket_ < 0) fail("accept");
  close(listener);
}

exchange::~exchange() {
  close(socket_);
}

endpoint exchange::swap(const endpoint& ours) {
  endpoint theirs;
  put(&ours, sizeof ours);
  get(&theirs, sizeof theirs);
  return theirs;
}

void exchange::meet() {
  char said = '.', heard = 0;
  put(&said, 1);
  get(&heard, 1);
}

void exchange::put(const void* from, std::size_t bytes) {
  if (send(socket_, from, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) fail("send");
}

void exchange::get(void* to, std::size_t bytes) {
  if (recv(socket_, to, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) fail("recv");
}

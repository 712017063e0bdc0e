// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/datagram_wire.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace freehca::wires {

datagram_wire::~datagram_wire() {
  if (!path_.empty()) unlink(path_.c_str());
}

namespace {

// Returns "", or the reason for a refusal.
std::string read_both(const std::string& local, const std::string& remote, socket_address& own,
                      socket_address& other) {
  std::string why = read_address(local, SOCK_DGRAM, own);
  if (why.empty()) why = read_address(remote, SOCK_DGRAM, other);
  if (why.empty() && own.family() != other.family())
    why = fmt::format("{} and {} are addresses of different kinds", local, remote);
  return why;
}

}  // namespace

bool datagram_wire::hand_over(handed_wire& to) const {
  to.connection = socket_.copy();
  if (!waiting_.empty()) to.waiting.push_back(waiting_);
  return to.connection.open();
}

std::unique_ptr<wire> datagram_wire::adopt(const std::string& local, const std::string& remote,
                                           handed_wire& from, std::string& why) {
  auto made = std::make_unique<datagram_wire>();
  socket_address own;
  why = read_both(local, remote, own, made->remote_);
  if (why.empty() && (!from.connection.open() || from.waiting.size() > 1))
    why = fmt::format("{}: it was handed over in no state of datagrams", local);
  if (!why.empty()) return nullptr;
  made->socket_ = std::move(from.connection);
  if (!from.waiting.empty()) made->waiting_ = std::move(from.waiting[0]);
  if (own.family() == AF_UNIX) made->path_ = local;
  return made;
}

std::unique_ptr<wire> datagram_wire::make(const std::string& local, const std::string& remote,
                                          std::string& why) {
  auto made = std::make_unique<datagram_wire>();
  socket_address own;
  why = read_both(local, remote, own, made->remote_);
  if (!why.empty()) return nullptr;
  made->socket_ = make_socket(own.family(), SOCK_DGRAM);
  if (own.family() == AF_UNIX) {
    why = bind_unix(made->socket_.get(), local);
    if (!why.empty()) return nullptr;
    made->path_ = local;
  } else if (bind(made->socket_.get(), own.get(), own.bytes) != 0) {
    why = fmt::format("{}: {}", local, std::strerror(errno));
    return nullptr;
  }
  return made;
}

short datagram_wire::events(bool reading) const {
  return static_cast<short>(reading ? POLLIN : 0);
}

std::uint64_t datagram_wire::deadline() const {
  return waiting_.empty() ? wire::deadline() : next_try_;
}

// Returns false if the other end has no room.
bool datagram_wire::put(const std::byte* from, std::size_t bytes) {
  ssize_t sent;
  do
    sent = sendto(socket_.get(), from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT, remote_.get(),
                  remote_.bytes);
  while (sent < 0 && errno == EINTR);
  return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
}

bool datagram_wire::send(const std::byte* from, std::size_t bytes) {
  if (!waiting_.empty()) return false;
  if (!put(from, bytes)) {
    waiting_.assign(from, from + bytes);
    next_try_ = 0;
  }
  return true;
}

void datagram_wire::work(short events, std::uint64_t now, wire_reader& to) {
  if (!waiting_.empty() && now >= next_try_) {
    if (put(waiting_.data(), waiting_.size())) waiting_.clear();
    else next_try_ = now + pause_ns;
  }
  if ((events & (POLLIN | POLLERR)) == 0) return;
  for (unsigned i = 0; i < most_at_once && to.may_receive(); ++i) {
    const ssize_t got = recv(socket_.get(), arrived_.data(), arrived_.size(), MSG_DONTWAIT);
    if (got < 0) return;
    to.receive(arrived_.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace freehca::wires

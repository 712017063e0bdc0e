// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/stream_wire.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace freehca::wires {
namespace {

constexpr std::size_t read_at_once = 64 * 1024;

void put_length(std::byte* to, std::size_t bytes) {
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(bytes >> (8 * (3 - i)));
}

std::size_t length_at(const std::byte* from) {
  std::size_t bytes = 0;
  for (unsigned i = 0; i < 4; ++i) bytes = bytes << 8 | std::to_integer<std::size_t>(from[i]);
  return bytes;
}

}  // namespace

stream_wire::~stream_wire() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::unique_ptr<wire> stream_wire::listen(const std::string& address, std::string& why) {
  auto made = std::make_unique<stream_wire>();
  why = listen_at(address, 1, made->listener_, made->path_);
  if (!why.empty()) return nullptr;
  made->state_ = state::listening;
  return made;
}

std::unique_ptr<wire> stream_wire::connect(const std::string& address, std::string& why) {
  std::vector<socket_address> addresses;
  why = read_addresses(address, SOCK_STREAM, addresses);
  return why.empty() ? connect(std::move(addresses)) : nullptr;
}

std::unique_ptr<wire> stream_wire::connect(std::vector<socket_address> addresses) {
  auto made = std::make_unique<stream_wire>();
  made->addresses_ = std::move(addresses);
  return made;
}

bool stream_wire::hand_over(handed_wire& to) const {
  to.stage = static_cast<std::uint8_t>(state_);
  to.listener = listener_.copy();
  to.connection = connection_.copy();
  to.waiting.assign(waiting_.begin(), waiting_.end());
  // The part of a packet that was sent is not sent again.
  if (!to.waiting.empty())
    to.waiting[0].erase(to.waiting[0].begin(),
                        to.waiting[0].begin() + static_cast<std::ptrdiff_t>(sent_of_first_));
  to.arrived = arrived_;
  return to.listener.open() == listener_.open() && to.connection.open() == connection_.open();
}

bool stream_wire::take_over(handed_wire& from) {
  if (from.stage > static_cast<std::uint8_t>(state::connected) ||
      from.waiting.size() > most_waiting || from.arrived.size() >= prefix_bytes + longest)
    return false;
  state_ = static_cast<state>(from.stage);
  const bool has_connection = state_ == state::connecting || state_ == state::connected;
  if (has_connection != from.connection.open()) return false;
  listener_ = std::move(from.listener);
  connection_ = std::move(from.connection);
  for (std::vector<std::byte>& one : from.waiting) waiting_.push_back(std::move(one));
  arrived_ = std::move(from.arrived);
  return true;
}

std::unique_ptr<wire> stream_wire::adopt_listener(const std::string& address, handed_wire& from,
                                                  std::string& why) {
  socket_address at;
  why = read_address(address, SOCK_STREAM, at);
  if (!why.empty()) return nullptr;
  auto made = std::make_unique<stream_wire>();
  const bool listens = from.listener.open();
  if (!made->take_over(from) || !listens || made->state_ == state::apart ||
      made->state_ == state::connecting) {
    why = fmt::format("{}: it was handed over in no state of a listener", address);
    return nullptr;
  }
  if (at.family() == AF_UNIX) made->path_ = address;
  return made;
}

std::unique_ptr<wire> stream_wire::adopt_caller(const std::string& address, handed_wire& from,
                                                std::string& why) {
  auto made = std::make_unique<stream_wire>();
  why = read_addresses(address, SOCK_STREAM, made->addresses_);
  if (!why.empty()) return nullptr;
  const bool listens = from.listener.open();
  if (made->take_over(from) && !listens && made->state_ != state::listening) return made;
  why = fmt::format("{}: it was handed over in no state of a caller", address);
  return nullptr;
}

const char* stream_wire::state_name() const {
  switch (state_) {
    case state::listening:
      return "listening";
    case state::apart:
    case state::connecting:
      return "connecting";
    case state::connected:
      break;
  }
  return "connected";
}

void stream_wire::take(wires::descriptor connection) {
  connection_ = std::move(connection);
  state_ = state::connected;
}

int stream_wire::descriptor() const {
  return state_ == state::listening ? listener_.get() : connection_.get();
}

short stream_wire::events(bool reading) const {
  if (state_ == state::listening) return POLLIN;
  if (state_ == state::connecting) return POLLOUT;
  return static_cast<short>((reading ? POLLIN : 0) | (waiting_.empty() ? 0 : POLLOUT));
}

std::uint64_t stream_wire::deadline() const {
  return state_ == state::apart && !addresses_.empty() ? next_call_ : wire::deadline();
}

void stream_wire::add_permissions(closed_process::permissions& to) const {
  if (!path_.empty()) to.removed_files.push_back(path_);
  for (const socket_address& one : addresses_) {
    to.connected_families.push_back(one.family());
    if (one.port() != 0) to.connected_ports.push_back(one.port());
  }
}

void stream_wire::work(short events, std::uint64_t now, wire_reader& to) {
  if (state_ == state::apart && !addresses_.empty() && now >= next_call_) {
    call(now);
  } else if (state_ == state::listening && events != 0) {
    accept_one();
  } else if (state_ == state::connecting && events != 0) {
    check_call(now);
  } else if (state_ == state::connected && events != 0) {
    const bool reading = (events & (POLLIN | POLLHUP | POLLERR)) != 0;
    if (!flush() || (reading && !read_frames(to))) hang_up(now);
  }
}

void stream_wire::accept_one() {
  connection_ =
      wires::descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection_.open()) state_ = state::connected;
}

void stream_wire::call(std::uint64_t now) {
  const socket_address& to = addresses_[next_address_];
  connection_ = make_socket(to.family(), SOCK_STREAM);
  if (::connect(connection_.get(), to.get(), to.bytes) == 0) {
    state_ = state::connected;
  } else if (errno == EINPROGRESS) {
    state_ = state::connecting;
  } else {
    call_failed(now);
  }
}

void stream_wire::check_call(std::uint64_t now) {
  int why = 0;
  socklen_t bytes = sizeof why;
  getsockopt(connection_.get(), SOL_SOCKET, SO_ERROR, &why, &bytes);
  if (why == 0) state_ = state::connected;
  else call_failed(now);
}

// Pauses after the last of the addresses.
void stream_wire::call_failed(std::uint64_t now) {
  next_address_ = (next_address_ + 1) % addresses_.size();
  hang_up(now);
  if (next_address_ != 0) next_call_ = now;
}

// Packets under way are dropped, as when a fibre is pulled.
void stream_wire::hang_up(std::uint64_t now) {
  connection_.close();
  waiting_.clear();
  arrived_.clear();
  sent_of_first_ = 0;
  state_ = listener_.open() ? state::listening : state::apart;
  next_call_ = now + pause_ns;
}

bool stream_wire::send(const std::byte* from, std::size_t bytes) {
  if (state_ != state::connected) return true;
  if (waiting_.size() >= most_waiting) return false;
  std::vector<std::byte>& frame = waiting_.emplace_back(prefix_bytes + bytes);
  put_length(frame.data(), bytes);
  std::memcpy(frame.data() + prefix_bytes, from, bytes);
  if (waiting_.size() == 1) flush();  // work() detects a failure
  return true;
}

bool stream_wire::flush() {
  while (!waiting_.empty()) {
    const std::vector<std::byte>& first = waiting_.front();
    const ssize_t sent = ::send(connection_.get(), first.data() + sent_of_first_,
                                first.size() - sent_of_first_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    sent_of_first_ += static_cast<std::size_t>(sent);
    if (sent_of_first_ < first.size()) continue;
    waiting_.pop_front();
    sent_of_first_ = 0;
  }
  return true;
}

bool stream_wire::read_frames(wire_reader& to) {
  const std::size_t before = arrived_.size();
  arrived_.resize(before + read_at_once);
  const ssize_t got = recv(connection_.get(), arrived_.data() + before, read_at_once, 0);
  const int why = errno;
  arrived_.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0) return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
  if (got == 0) return false;
  std::size_t at = 0;
  while (arrived_.size() - at >= prefix_bytes) {
    const std::size_t length = length_at(arrived_.data() + at);
    if (length > longest) {
      to.complain(
          fmt::format("a cable's other end announced a frame of {} bytes: hung up", length));
      return false;
    }
    if (arrived_.size() - at - prefix_bytes < length) break;
    to.receive(arrived_.data() + at + prefix_bytes, length);
    at += prefix_bytes + length;
  }
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

}  // namespace freehca::wires

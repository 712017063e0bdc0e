// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/stream_wire.hpp>

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace freehca::wires {
namespace {

constexpr std::size_t read_at_once = 64 * 1024;
// handed_wire::stage of a connection whose first frame may be a hello.
constexpr std::uint8_t first_frame_stage = 4;

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

std::unique_ptr<wire> stream_wire::listen(const std::string& text, std::string& why) {
  std::string address;
  hello_options options;
  why = read_hello_options(text, address, options);
  if (!why.empty()) return nullptr;
  auto made = std::make_unique<stream_wire>(std::move(options));
  why = listen_at(address, 1, made->listener_, made->path_);
  if (!why.empty()) return nullptr;
  made->state_ = state::listening;
  if (lacks_secret(address, made->options_)) made->warning_ = no_secret_warning(address, true);
  return made;
}

std::unique_ptr<wire> stream_wire::connect(const std::string& text, std::string& why) {
  std::string address;
  hello_options options;
  std::vector<socket_address> addresses;
  why = read_hello_options(text, address, options);
  if (why.empty()) why = read_addresses(address, SOCK_STREAM, addresses);
  if (!why.empty()) return nullptr;
  auto made = std::make_unique<stream_wire>(std::move(options));
  made->addresses_ = std::move(addresses);
  if (lacks_secret(address, made->options_)) made->warning_ = no_secret_warning(address, false);
  return made;
}

std::unique_ptr<wire> stream_wire::connect(std::vector<socket_address> addresses,
                                           hello_options options) {
  auto made = std::make_unique<stream_wire>(std::move(options));
  made->addresses_ = std::move(addresses);
  return made;
}

// A connection whose hello has not ended is not handed over. Its peer tries again.
bool stream_wire::hand_over(handed_wire& to) const {
  to.listener = listener_.copy();
  if (state_ == state::connected && !hello_->open()) {
    to.stage = static_cast<std::uint8_t>(listener_.open() ? state::listening : state::apart);
    return to.listener.open() == listener_.open();
  }
  to.stage = static_cast<std::uint8_t>(state_);
  if (state_ == state::connected && hello_->examines()) to.stage = first_frame_stage;
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
  const bool examines = from.stage == first_frame_stage;
  if (examines) from.stage = static_cast<std::uint8_t>(state::connected);
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
  if (state_ == state::connected) {
    hello_.emplace(options_, listener_.open() ? hello_role::listener : hello_role::caller,
                   examines);
    undelivered_ = true;
  }
  return true;
}

std::unique_ptr<wire> stream_wire::adopt_listener(const std::string& text, handed_wire& from,
                                                  std::string& why) {
  std::string address;
  hello_options options;
  socket_address at;
  why = read_hello_options(text, address, options);
  if (why.empty()) why = read_address(address, SOCK_STREAM, at);
  if (!why.empty()) return nullptr;
  auto made = std::make_unique<stream_wire>(std::move(options));
  const bool listens = from.listener.open();
  if (!made->take_over(from) || !listens || made->state_ == state::apart ||
      made->state_ == state::connecting) {
    why = fmt::format("{}: it was handed over in no state of a listener", address);
    return nullptr;
  }
  if (at.family() == AF_UNIX) made->path_ = address;
  return made;
}

std::unique_ptr<wire> stream_wire::adopt_caller(const std::string& text, handed_wire& from,
                                                std::string& why) {
  std::string address;
  hello_options options;
  std::vector<socket_address> addresses;
  why = read_hello_options(text, address, options);
  if (why.empty()) why = read_addresses(address, SOCK_STREAM, addresses);
  if (!why.empty()) return nullptr;
  auto made = std::make_unique<stream_wire>(std::move(options));
  made->addresses_ = std::move(addresses);
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
  return connected() ? "connected" : "greeting";
}

void stream_wire::take(wires::descriptor connection, std::uint64_t now) {
  connection_ = std::move(connection);
  begin(hello_role::listener, now);
}

void stream_wire::begin(hello_role role, std::uint64_t now) {
  state_ = state::connected;
  hello::nonce own{};
  // Linux always fills so few bytes whole, once the kernel has been seeded.
  if (getrandom(own.data(), own.size(), 0) != static_cast<ssize_t>(own.size())) return hang_up(now);
  hello_.emplace(options_, role, own, now);
  for (const hello::frame& one : hello_->take_frames()) put_frame(one.data(), one.size());
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
  if (state_ == state::connected) return undelivered_ ? 0 : hello_->deadline();
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
    accept_one(now);
  } else if (state_ == state::connecting && events != 0) {
    check_call(now);
  } else if (state_ == state::connected && !work_connection(events, now, to)) {
    hang_up(now);
  }
}

// Returns false if the connection has ended. The hello and what follows it are taken by different
// calls: a caller of work() sees first that the wire is connected, and then its packets.
bool stream_wire::work_connection(short events, std::uint64_t now, wire_reader& to) {
  const bool flushed = events == 0 || flush();
  const bool reading = (events & (POLLIN | POLLHUP | POLLERR)) != 0;
  const bool was_connected = connected();
  const bool lives = flushed && (!reading || receive());
  if (!work_hello(now, lives, to)) return false;
  if (!was_connected && connected()) {
    undelivered_ = true;
    return true;
  }
  if (flushed && connected() && (reading || undelivered_)) {
    undelivered_ = false;
    if (!deliver(to)) return false;
  }
  return lives;
}

void stream_wire::accept_one(std::uint64_t now) {
  wires::descriptor accepted(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted.open()) take(std::move(accepted), now);
}

void stream_wire::call(std::uint64_t now) {
  const socket_address& to = addresses_[next_address_];
  connection_ = make_socket(to.family(), SOCK_STREAM);
  if (::connect(connection_.get(), to.get(), to.bytes) == 0) {
    begin(hello_role::caller, now);
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
  if (why == 0) begin(hello_role::caller, now);
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
  const bool refused = hello_ && !hello_->refusal().empty();
  next_call_ = now + (refused ? refused_pause_ns : pause_ns);
  hello_.reset();
  undelivered_ = false;
  state_ = listener_.open() ? state::listening : state::apart;
}

bool stream_wire::send(const std::byte* from, std::size_t bytes) {
  if (!connected()) return true;
  if (waiting_.size() >= most_waiting) return false;
  put_frame(from, bytes);
  return true;
}

void stream_wire::put_frame(const std::byte* from, std::size_t bytes) {
  std::vector<std::byte>& frame = waiting_.emplace_back(prefix_bytes + bytes);
  put_length(frame.data(), bytes);
  std::memcpy(frame.data() + prefix_bytes, from, bytes);
  if (waiting_.size() == 1) flush();  // work() detects a failure
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

// Returns false if the peer has closed the connection.
bool stream_wire::receive() {
  const std::size_t before = arrived_.size();
  arrived_.resize(before + read_at_once);
  const ssize_t got = recv(connection_.get(), arrived_.data() + before, read_at_once, 0);
  const int why = errno;
  arrived_.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0) return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
  return got != 0;
}

// Returns false if the peer is refused.
bool stream_wire::work_hello(std::uint64_t now, bool lives, wire_reader& to) {
  while (hello_->examines()) {
    const std::size_t bytes = hello_->arrived(arrived_);
    if (bytes == 0) break;
    drop_arrived(bytes);
  }
  hello_->run(now);
  if (!lives) hello_->end();
  for (const hello::frame& one : hello_->take_frames()) put_frame(one.data(), one.size());
  if (hello_->refusal().empty()) {
    if (hello_->open()) refusals_ = 0;
    return true;
  }
  complain_of_refusal(to);
  return false;
}

void stream_wire::complain_of_refusal(wire_reader& to) {
  if (refusals_ == most_refusals) return;
  ++refusals_;
  to.complain(fmt::format("refused: {}{}", hello_->refusal(),
                          refusals_ == most_refusals ? "; more refusals are not reported" : ""));
}

bool stream_wire::deliver(wire_reader& to) {
  std::size_t at = 0;
  while (!hello_->examines() && arrived_.size() - at >= prefix_bytes) {
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
  drop_arrived(at);
  return true;
}

void stream_wire::drop_arrived(std::size_t bytes) {
  arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(bytes));
}

}  // namespace freehca::wires

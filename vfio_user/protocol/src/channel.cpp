// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_user/channel.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

namespace freehca::vfio_user {
namespace {

// One more than allowed, so that too many descriptors are detected and closed.
constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int) * (greatest_descriptors + 1));

}  // namespace

channel::channel(descriptor socket) : socket_(std::move(socket)) {
  if (!open()) return;
  const int flags = fcntl(socket_.get(), F_GETFL);
  fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
}

void channel::close() {
  socket_.close();
  landing_ = nullptr;
  partial_ = message{};
  header_bytes_ = body_bytes_ = 0;
}

void channel::take_descriptors(const void* control) {
  const auto& m = *static_cast<const msghdr*>(control);
  if ((m.msg_flags & MSG_CTRUNC) != 0) partial_.too_many_descriptors = true;
  for (const cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&m), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    try {
      partial_.descriptors.reserve(partial_.descriptors.size() + count);
    } catch (const std::bad_alloc&) {
      partial_.no_memory = true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof number);
      descriptor one(number);
      if (!partial_.no_memory) partial_.descriptors.push_back(std::move(one));
    }
  }
  if (partial_.descriptors.size() > greatest_descriptors) partial_.too_many_descriptors = true;
  if (partial_.too_many_descriptors || partial_.no_memory) partial_.descriptors.clear();
}

bool channel::has_room_for(std::size_t body_bytes) {
  if (partial_.no_memory) return false;
  try {
    partial_.body.resize(body_bytes);
  } catch (const std::bad_alloc&) {
    partial_.no_memory = true;
  }
  return !partial_.no_memory;
}

// Descriptors arrive with the first byte of the data that they were sent with. No read goes past
// the end of a message, so the descriptors belong to this message.
channel::step channel::read_some(std::byte* to, std::size_t bytes, std::size_t& read) {
  alignas(cmsghdr) std::array<std::byte, control_bytes> control;
  iovec part{to, bytes};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control.data();
  m.msg_controllen = control.size();
  ssize_t got;
  do got = recvmsg(socket_.get(), &m, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return step::blocked;
  if (got <= 0) return step::gone;
  take_descriptors(&m);
  read += static_cast<std::size_t>(got);
  return step::more;
}

// Receives a whole message in one call. If the process is killed, the message is either in
// `landing_` or still in the socket. A message that has not arrived completely, or is too long, is
// received by receive().
channel::step channel::land() {
  header next;
  const ssize_t seen = recv(socket_.get(), &next, sizeof next, MSG_PEEK);
  if (seen == 0) return step::gone;
  if (seen < 0) return errno == EAGAIN || errno == EINTR ? step::blocked : step::gone;
  constexpr std::size_t most = sizeof(header) + sizeof landing::body;
  int there = 0;
  if (seen != sizeof next || next.bytes < sizeof next || next.bytes > most ||
      ioctl(socket_.get(), FIONREAD, &there) != 0 || static_cast<std::size_t>(there) < next.bytes)
    return step::in_pieces;
  std::size_t got = 0;
  if (const step s = read_some(reinterpret_cast<std::byte*>(landing_), next.bytes, got);
      s != step::more)
    return s;
  // Fewer bytes arrive if descriptors came with the second half of the message.
  landing_->in_pieces = got != next.bytes;
  header_bytes_ = std::min(got, sizeof(header));
  body_bytes_ = got - header_bytes_;
  std::memcpy(&partial_.head, &landing_->head, header_bytes_);
  if (has_room_for(next.bytes - sizeof(header)))
    std::copy_n(landing_->body.begin(), body_bytes_, partial_.body.begin());
  return step::more;
}

arrival channel::receive(message& to) {
  if (!open()) return arrival::closed;
  const auto outcome_of = [](step s) {
    return s == step::blocked ? arrival::nothing : arrival::closed;
  };
  if (landing_ != nullptr && header_bytes_ == 0) {
    const step s = land();
    if (s == step::blocked || s == step::gone) return outcome_of(s);
    if (s == step::in_pieces) landing_->in_pieces = true;
  }
  while (header_bytes_ < sizeof(header)) {
    auto* at = reinterpret_cast<std::byte*>(&partial_.head) + header_bytes_;
    const step s = read_some(at, sizeof(header) - header_bytes_, header_bytes_);
    if (s != step::more) return outcome_of(s);
  }
  if (partial_.head.bytes < sizeof(header)) {
    to.head = partial_.head;
    return arrival::out_of_step;
  }
  const std::size_t body_size = partial_.head.bytes - sizeof(header);
  partial_.too_long = body_size > greatest_body;
  const bool has_room = !partial_.too_long && has_room_for(body_size);
  std::array<std::byte, 4096> thrown_away;
  while (body_bytes_ < body_size) {
    const std::size_t left = body_size - body_bytes_;
    const step s =
        has_room ? read_some(partial_.body.data() + body_bytes_, left, body_bytes_)
                 : read_some(thrown_away.data(), std::min(left, thrown_away.size()), body_bytes_);
    if (s != step::more) return outcome_of(s);
  }
  to = std::move(partial_);
  partial_ = message{};
  header_bytes_ = body_bytes_ = 0;
  return arrival::message;
}

bool channel::wait_until_writable() const {
  pollfd one{socket_.get(), POLLOUT, 0};
  int ready;
  do ready = poll(&one, 1, patience_ms_);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool channel::send(header head, std::span<const std::byte> first, std::span<const std::byte> second,
                   std::span<const int> descriptors) {
  if (!open() || descriptors.size() > greatest_descriptors) return false;
  head.bytes = static_cast<std::uint32_t>(sizeof(header) + first.size() + second.size());
  std::array<iovec, 3> parts{{{&head, sizeof head},
                              {const_cast<std::byte*>(first.data()), first.size()},
                              {const_cast<std::byte*>(second.data()), second.size()}}};
  alignas(cmsghdr) std::array<std::byte, control_bytes> control{};
  const bool is_reply = landing_ != nullptr && (head.flags & type_mask) == type_reply;
  mmsghdr elsewhere{};
  mmsghdr& sending = is_reply ? landing_->reply : elsewhere;
  if (is_reply) landing_->reply_bytes = head.bytes;
  msghdr& m = sending.msg_hdr;
  m = {};
  m.msg_iov = parts.data();
  m.msg_iovlen = parts.size();
  if (!descriptors.empty()) {
    m.msg_control = control.data();
    m.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  std::size_t left = head.bytes;
  while (left > 0) {
    sending.msg_len = 0;
    const bool any = sendmmsg(socket_.get(), &sending, 1, MSG_NOSIGNAL) == 1;
    const ssize_t sent = any ? static_cast<ssize_t>(sending.msg_len) : -1;
    if (landing_ != nullptr && any) landing_->in_pieces = sent < static_cast<ssize_t>(left);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && wait_until_writable()) continue;
    if (sent <= 0) return false;
    left -= static_cast<std::size_t>(sent);
    m.msg_control = nullptr;
    m.msg_controllen = 0;
    std::size_t gone = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t n = std::min(gone, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + n;
      part.iov_len -= n;
      gone -= n;
    }
  }
  return true;
}

}  // namespace freehca::vfio_user

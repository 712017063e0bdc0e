// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "control_client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include <fmt/format.h>

namespace freehca::device_server {

bool control_client::has_work() const {
  return answer_.empty() && (ended_ || whole_line());
}

short control_client::events() const {
  if (!answer_.empty()) return POLLOUT;
  return has_work() ? short{0} : short{POLLIN};
}

bool control_client::work(short events, std::uint64_t now, const line_answerer& answerer) {
  if (answer_.empty() && !has_work() && events != 0 && !read()) return false;
  if (answer_.empty() && !answer_one(answerer)) return false;
  return flush(now);
}

bool control_client::read() {
  const std::size_t before = arrived_.size();
  arrived_.resize(before + read_at_once);
  const ssize_t got = recv(socket_.get(), arrived_.data() + before, read_at_once, MSG_DONTWAIT);
  const int why = errno;
  arrived_.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got < 0) return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
  ended_ = got == 0;
  end_ = arrived_.find('\n', before);
  return true;
}

void control_client::drop(std::size_t bytes) {
  arrived_.erase(0, bytes);
  end_ = arrived_.find('\n');
}

// The last line of a connection may have no line end.
bool control_client::answer_one(const line_answerer& answerer) {
  const bool whole = whole_line();
  const std::size_t bytes = whole ? end_ : arrived_.size(), with_end = bytes + (whole ? 1 : 0);
  if (skipping_) {
    skipping_ = !whole;
    drop(with_end);
    return whole || !ended_;
  }
  if (bytes > longest_line) {
    skipping_ = !whole;
    drop(with_end);
    answer_ = fmt::format("{{\"ok\":false,\"error\":\"the line is too long: {} bytes at most\"}}\n",
                          longest_line);
    return true;
  }
  if (!whole && !ended_) return true;
  if (with_end == 0) return false;
  const std::string line = arrived_.substr(0, bytes);
  drop(with_end);
  if (line.find_first_not_of(" \t\r") != std::string::npos) answer_ = answerer(line) + '\n';
  return true;
}

bool control_client::flush(std::uint64_t now) {
  while (!answer_.empty()) {
    const ssize_t sent =
        send(socket_.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      if (give_up_ == never) give_up_ = now + patience_ns;
      return now < give_up_;
    }
    answer_.erase(0, static_cast<std::size_t>(sent));
    give_up_ = never;
  }
  return true;
}

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <freehca/vfio_user/descriptor.hpp>

namespace freehca::device_server {

/// A function that answers a line of the control socket by a line.
using line_answerer = std::function<std::string(std::string_view)>;

/// One client of the control socket. Nothing is read beyond the line that is being answered, so the
/// buffers are bounded. If a client does not accept an answer for five seconds, its connection is
/// closed.
class control_client {
 public:
  static constexpr std::size_t longest_line = 64 * 1024;

  explicit control_client(vfio_user::descriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  short events() const;
  /// Whether work can be done without waiting for an event.
  bool has_work() const;
  /// The time at which work() must be called even without an event. All ones: never.
  std::uint64_t deadline() const { return has_work() ? 0 : give_up_; }

  /// Reads, answers one line and writes, a bounded amount of each. Returns false if the client is
  /// gone or must be disconnected.
  bool work(short events, std::uint64_t now, const line_answerer& answerer);

 private:
  bool whole_line() const { return end_ != std::string::npos; }
  bool read();
  void drop(std::size_t bytes);
  bool answer_one(const line_answerer& answerer);
  bool flush(std::uint64_t now);

  static constexpr std::size_t read_at_once = 16 * 1024;
  static constexpr std::uint64_t patience_ns = 5'000'000'000;
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  vfio_user::descriptor socket_;
  std::string arrived_;
  std::size_t end_ = std::string::npos;  ///< end of the first line in it
  std::string answer_;                   ///< the part that is not sent yet
  std::uint64_t give_up_ = never;
  bool ended_ = false;     ///< the client has closed its sending side
  bool skipping_ = false;  ///< skips the rest of a line that is too long
};

}  // namespace freehca::device_server

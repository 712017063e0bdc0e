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

/// What answers a line of the control socket by a line.
using line_answerer = std::function<std::string(std::string_view)>;

/// One who asks on the control socket. It is read no further than the line that is answered, so
/// what is kept for it is bounded; who does not take an answer for five seconds is hung up on.
class control_client {
 public:
  static constexpr std::size_t longest_line = 64 * 1024;

  explicit control_client(vfio_user::descriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  short events() const;
  /// Work is there that nothing has to be waited for.
  bool has_work() const;
  /// When work() is to be called whatever happens; never: all ones.
  std::uint64_t deadline() const { return has_work() ? 0 : give_up_; }

  /// Reads, answers one line, writes: some of each. False: it has gone, or must go.
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
  std::size_t end_ = std::string::npos;  ///< of the first line in it
  std::string answer_;                   ///< what of it has not been taken yet
  std::uint64_t give_up_ = never;
  bool ended_ = false;     ///< it sends no more
  bool skipping_ = false;  ///< the rest of a line that is too long
};

}  // namespace freehca::device_server

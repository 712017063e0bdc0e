// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <poll.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control_client.hpp"

namespace freehca::device_server {

/// The socket on which the server is asked about itself, and those who ask: several at once, each
/// answered a line in turn.
class control_socket {
 public:
  static constexpr std::size_t most_clients = 16;

  control_socket() = default;
  ~control_socket();
  control_socket(const control_socket&) = delete;
  control_socket& operator=(const control_socket&) = delete;

  /// "", or what is wrong. Without it there is nobody to be served.
  std::string listen(const std::string& path);
  /// The same on a socket that is bound. `path`: to be taken away at the end; "": somebody else
  /// does that.
  void listen(vfio_user::descriptor listener, std::string path) {
    listener_ = std::move(listener);
    path_ = std::move(path);
  }
  /// Somebody else will take the path away.
  void leave_path() { path_.clear(); }
  /// -1: nobody listens.
  int socket() const { return listener_.get(); }

  /// Adds what is to be waited for.
  void watch(std::vector<pollfd>& to) const;
  std::uint64_t deadline() const;
  /// `watched`: as it was added, with what was found.
  void serve(std::span<const pollfd> watched, std::uint64_t now, const line_answerer& answerer);
  /// Hangs up on all clients.
  void hang_up() { clients_.clear(); }

 private:
  void accept_one();

  vfio_user::descriptor listener_;
  std::string path_;  ///< to be taken away at the end
  std::vector<control_client> clients_;
};

}  // namespace freehca::device_server

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

/// The control socket and its clients. There may be several clients; each gets one line answered in
/// turn.
class control_socket {
 public:
  static constexpr std::size_t most_clients = 16;

  control_socket() = default;
  ~control_socket();
  control_socket(const control_socket&) = delete;
  control_socket& operator=(const control_socket&) = delete;

  /// Begins to listen. Returns "", or a message. Without this call there are no clients.
  std::string listen(const std::string& path);
  /// The same on a socket that is bound already. The destructor removes `path`. If `path` is "",
  /// another process removes it.
  void listen(vfio_user::descriptor listener, std::string path) {
    listener_ = std::move(listener);
    path_ = std::move(path);
  }
  /// Leaves the removal of the path to another process.
  void leave_path() { path_.clear(); }
  /// The path that the destructor removes, or "".
  const std::string& path() const { return path_; }
  /// The listening socket; -1: there is none.
  int socket() const { return listener_.get(); }

  /// Adds the descriptors and events to wait for.
  void watch(std::vector<pollfd>& to) const;
  std::uint64_t deadline() const;
  /// Serves the clients. `watched` are the descriptors that watch() added, with the events found.
  void serve(std::span<const pollfd> watched, std::uint64_t now, const line_answerer& answerer);
  /// Disconnects all clients.
  void hang_up() { clients_.clear(); }

 private:
  void accept_one();

  vfio_user::descriptor listener_;
  std::string path_;  ///< removed by the destructor
  std::vector<control_client> clients_;
};

}  // namespace freehca::device_server

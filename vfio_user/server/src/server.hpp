// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <poll.h>

#include <array>
#include <string>
#include <vector>

#include <freehca/vfio_user/channel.hpp>

#include "adapter_function.hpp"
#include "client_memory.hpp"
#include "session.hpp"
#include "settings.hpp"

namespace freehca::device_server {

/// All of it in one thread: whoever has something to say is heard in turn, and the adapter works in
/// between, a turn at a time.
class server {
 public:
  explicit server(const settings& how);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// "", or what is wrong. From here on SIGTERM and SIGINT are asked for, not suffered.
  std::string begin();
  /// Returns when the process is asked to end.
  void run();

 private:
  enum place : unsigned { stop_place, listener_place, client_place, unmask_place, cable_place };

  void wait_for_something();
  void accept_one();
  void serve_client();
  void refuse_others();

  static constexpr std::size_t most_refused = 8;

  const settings& how_;
  session session_;
  client_memory memory_{session_};
  adapter_function function_;
  vfio_user::descriptor listener_, stop_;
  bool bound_ = false;
  /// They came while another is served, and are told so.
  std::vector<vfio_user::channel> refused_;
  std::vector<pollfd> watched_;
};

}  // namespace freehca::device_server

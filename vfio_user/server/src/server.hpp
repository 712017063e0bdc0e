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
#include "control_requests.hpp"
#include "control_socket.hpp"
#include "hand_over.hpp"
#include "memory_reserve.hpp"
#include "notify.hpp"
#include "rest.hpp"
#include "session.hpp"
#include "settings.hpp"
#include "state_file.hpp"

namespace freehca::device_server {

/// The server, in one thread. Each round serves the descriptors that are ready, and then lets the
/// adapter work for one turn.
class server {
 public:
  /// `how` is not const, because the control socket changes settings.
  server(settings& how, service_manager manager, keeper_side keeper = {});
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Begins to listen on sockets that were handed over and on those that the settings name. Returns
  /// "", or a message. From then on SIGTERM and SIGINT are blocked and read from a signalfd.
  std::string begin(passed_sockets passed);
  /// Continues with the client of a process that died.
  void resume(keeper::kept_client& client);
  /// Takes the place of a process that hands over, as a process of a new build. Returns when that
  /// process has ended. Returns false if the state is refused, which it has reported, or if the
  /// keeper is gone.
  bool take_over(device_server::handed_over& from);
  /// Whether another process has taken the place of this one. Then this process must end without
  /// destructors.
  bool handed_over() const { return handed_over_; }
  /// Serves until SIGTERM or SIGINT, or until handed_over(). Returns the exit code.
  int run();
  /// The exit code after begin() has returned a message.
  int failure() const { return failure_; }

 private:
  enum place : unsigned { stop_place, listener_place, client_place, unmask_place, cable_place };

  std::string listen_for_clients(vfio_user::descriptor passed);
  std::string listen_for_control(vfio_user::descriptor passed, bool own);
  void wait_for_something();
  void watch_everything();
  bool watch_doorbells(std::uint64_t until);
  void sleep_until(std::uint64_t deadline);
  void serve_control();
  void accept_one();
  void serve_client();
  void refuse_others();
  /// Returns false after SIGTERM or SIGINT.
  bool work();
  void recover_from_lack_of_memory();
  /// All of begin() until the process is closed. The cables are the wires of another process, if
  /// there are `wires`.
  std::string prepare(passed_sockets passed, handed_wires* wires);
  /// Loads the state of the file that --load names. Returns "", or a message.
  std::string load(std::span<const std::byte> state);
  std::string begin_with(device_server::handed_over& from);
  /// Hands everything over to a process of a new build. Returns "" and the version of that build,
  /// or the reason why this process goes on. Must not be called from inside the model.
  std::string hand_over(std::string& version);
  /// Serves the client until none of its messages is in hand. Returns false if it sends only a part
  /// of one.
  bool finish_messages();
  /// Opens the file that --save-on names. Returns "", or a message.
  std::string prepare_saving();
  /// Writes the state to the file that --save-on names. Returns the exit code.
  int save();

  static constexpr std::size_t most_refused = 8;
  static constexpr std::uint64_t memory_is_awaited_ns = 10'000'000;
  /// For polled doorbells: the time in which only doorbells are scanned, and the maximum time that
  /// other events wait while doorbells are written.
  static constexpr std::uint64_t doorbells_alone_ns = 2'000, others_wait_ns = 20'000;

  /// Gives up the rights that are not needed from now on. Returns "", or a message.
  std::string close_itself();
  void tell_that_it_is_ready();

  memory_reserve reserve_;
  settings& how_;
  service_manager manager_;
  keeper_side keeper_;
  session session_;
  client_memory memory_{session_};
  adapter_function function_;
  vfio_user::descriptor listener_, stop_;
  bool bound_ = false, told_ready_ = false;
  state_file saved_;
  bool terminated_ = false;  ///< the signal was SIGTERM
  bool handed_over_ = false;
  int failure_ = 1;
  std::string rights_;  ///< the result of close_itself(), for people
  /// Clients that connected while another client is served. Their first request is refused.
  std::vector<vfio_user::channel> refused_;
  control_subject subject_{{how_, function_}, session_, memory_, [this](std::string& version) {
                             return hand_over(version);
                           }};
  control_socket control_;
  std::size_t control_place_ = 0;
  std::vector<pollfd> watched_;
  rest rest_;
  std::uint64_t asked_ = 0;  ///< time of the last poll() of all descriptors
};

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <freehca/keeper/kept_client.hpp>
#include <freehca/vfio_user/channel.hpp>

#include "notify.hpp"

namespace freehca::device_server {

/// How the program was started: the path of its file, and its arguments. A new build is the file
/// that is at this path later.
struct started_as {
  std::string program;
  std::vector<std::string> arguments;
};

/// Everything that the keeper hands to a process that it starts from a program file.
struct offer {
  const vfio_user::descriptor& shared_memory;
  unsigned starts;  ///< the number of this process, counted from 1
  const passed_sockets& sockets;
  const keeper::kept_client& client;
  const vfio_user::message* state;  ///< the record with the adapter's state; null: it died
};

/// A process that the keeper starts from a program file, until it takes the place of the adapter's
/// process.
class upgrade {
 public:
  enum class outcome { none, loaded, ended };

  /// Starts the process and sends it the offer. Returns "", or the reason for a failure. Then the
  /// process has ended.
  std::string begin(const started_as& program, const offer& what, std::uint64_t now);
  bool under_way() const { return process_ > 0; }
  int socket() const { return link_.socket(); }
  /// Takes the process's records. If it has loaded the state, `text` receives its version. If it
  /// has refused, has ended or takes too long, `text` receives the reason, and the process has
  /// ended.
  outcome work(std::uint64_t now, std::string& text);
  /// Ends the process.
  void give_up();

  /// Called when the process takes its place.
  vfio_user::channel take_link() { return std::move(link_); }
  pid_t take_process() { return std::exchange(process_, -1); }

 private:
  bool send(const offer& what);
  bool send(keeper::record what, const std::vector<int>& files, std::span<const std::byte> body);
  std::string reason_of_end();
  std::string exit_text();

  static constexpr std::uint64_t patience_ns = 60'000'000'000;

  pid_t process_ = -1;
  vfio_user::channel link_;
  std::uint64_t deadline_ = 0;
};

}  // namespace freehca::device_server

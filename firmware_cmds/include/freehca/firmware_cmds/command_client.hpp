// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/list.hpp>

namespace freehca {

class channel;

/// A queue of commands of one sender. Clients have equal rights: within a lane the channel takes
/// commands from one client after the other. The first command of one client therefore does not
/// wait for ten thousand commands of another. Lanes, keys, barriers, deadlines, leases and resets
/// are the same for all clients. Commands with equal keys run in the order of their submission,
/// even if they belong to different clients. The driver's own commands belong to a client too.
///
/// With raw_command, a client is the raw command channel: any user of a device that is up can send
/// any firmware command. While the device is not up, the commands of clients end with
/// driver_error::bad_state.
///
/// The caller owns the client. The channel outlives the client. Only the channel's thread uses it.
class command_client {
 public:
  explicit command_client(channel& commands) : channel_(&commands) {}
  command_client(const command_client&) = delete;
  command_client& operator=(const command_client&) = delete;
  ~command_client() { cancel_all(); }

  /// Like channel::submit().
  void submit(command& c);
  /// Cancels the queued commands and detaches the commands in flight. All of them end at the next
  /// poll() of the channel. They do not refer to the client after cancel_all() has returned.
  void cancel_all();

  unsigned queued() const { return queued_; }
  unsigned in_flight() const { return in_flight_; }

 private:
  friend class channel;
  /// The commands of one lane that may be posted, in the order of submission. The list_node is the
  /// place of the client among the clients that take turns.
  struct lane_queue : list_node {
    list<command> ready;
  };

  channel* channel_;
  lane_queue lane_[lanes];
  unsigned queued_ = 0;
  unsigned in_flight_ = 0;
};

}  // namespace freehca

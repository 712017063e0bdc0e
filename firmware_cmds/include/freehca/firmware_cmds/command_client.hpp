// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/list.hpp>

namespace freehca {

class channel;

/// Somebody who sends commands, on equal terms with others: commands queue with their client, and
/// within a lane the channel takes from one client after the other, so that ten thousand commands
/// of one do not make another's wait for all of them. Lanes, keys, barriers, deadlines, leases and
/// resets are the same for all; commands with equal keys run in the order in which they were
/// submitted, whoever their clients are. The driver's own commands are a client's too.
///
/// With raw_command this is the raw command channel: any user of a device that is up can send any
/// firmware command. While it is not up they end with driver_error::bad_state.
///
/// Caller-owned; the channel outlives it. The channel's thread only.
class command_client {
 public:
  explicit command_client(channel& commands) : channel_(&commands) {}
  command_client(const command_client&) = delete;
  command_client& operator=(const command_client&) = delete;
  ~command_client() { cancel_all(); }

  /// As channel::submit().
  void submit(command& c);
  /// Cancels what is queued and detaches what is in flight: all of it ends at the next poll() of
  /// the channel. What has ended by then no longer needs the client.
  void cancel_all();

  unsigned queued() const { return queued_; }
  unsigned in_flight() const { return in_flight_; }
  std::uint64_t submitted() const { return submitted_; }  ///< ever
  std::uint64_t posted() const { return posted_; }        ///< ever

 private:
  friend class channel;
  /// What may be posted of one lane, and the client's place among those that take turns.
  struct lane_queue : list_node {
    list<command> fresh;     // in the order of their submission
    list<command> released;  // the same; these had waited for others on their object
    bool empty() const { return fresh.empty() && released.empty(); }
    command& first();
  };

  channel* channel_;
  lane_queue lane_[lanes];
  unsigned queued_ = 0;
  unsigned in_flight_ = 0;
  std::uint64_t submitted_ = 0, posted_ = 0;
};

}  // namespace freehca

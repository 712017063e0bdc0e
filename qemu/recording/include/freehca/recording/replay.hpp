// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <freehca/recording/recording.hpp>

namespace freehca::recording {

/// What a replay gave.
struct replay_result {
  recording again;  ///< what the model recorded of it
  /// Where the replay could not go on as the recording did, or had to invent something: a call that
  /// cannot be made again, memory that the recording does not hold.
  std::vector<std::string> remarks;
};

/// Makes the calls of `from` to a new model, each at its time, in a host whose memory holds what
/// the recording's adapter read: at a call, what that call read; before and behind it, what was
/// last known of each byte. What the recording learns of a byte only later counts from the start.
/// `from` must be usable.
replay_result replay(const recording& from);

/// Two numbers that are equal for replays that are alike.
struct replay_digests {
  std::uint64_t effects = 0;  ///< of all that the adapter did to its host, in order
  std::uint64_t state = 0;    ///< of the adapter at the end (device::state_digest())
  bool operator==(const replay_digests&) const = default;
};
/// The same replay, without a recording of it. The adapter's state can be saved and loaded
/// meanwhile (device::reload_at_one_of()).
replay_digests digests_of_replay(const recording& from);

}  // namespace freehca::recording

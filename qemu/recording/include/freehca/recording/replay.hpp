// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

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

}  // namespace freehca::recording

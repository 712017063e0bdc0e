// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::keeper {

/// Memory that the adapter's process shares with the keeper, and with the next process of the
/// adapter.
struct shared_state {
  /// The request that was taken from the connection and has no reply yet.
  vfio_user::landing request;
  /// That request is done, and was reported to the keeper.
  bool request_is_kept;
  /// The number of the client's requests that all processes together have answered or refused.
  std::uint64_t requests_done;
  /// Processes died while they executed that request. The next process refuses it.
  bool refuse_request;
  /// A report to the keeper failed, so the keeper's state of the client is not complete.
  bool keeper_is_behind;
  /// A copy from the time when the last request was answered, or reported to the keeper.
  std::array<std::uint8_t, 4096> configuration_space;

  /// The request is done, and its reply was sent if it needs one.
  void request_done() {
    ++requests_done;
    refuse_request = false;
    request_is_kept = false;
    // Last: if the process dies before this, the keeper does all of it again for an answered
    // request.
    request.clear();
  }
};

/// Creates the shared memory, for the lifetime of the process. `file` receives its file, for a
/// process that is not forked from this one. Null: there is not enough memory.
shared_state* make_shared_state(vfio_user::descriptor* file = nullptr);
/// Maps the shared memory that another process created, for the lifetime of the process. Null: it
/// is not a file of this size, or there is not enough memory.
shared_state* map_shared_state(const vfio_user::descriptor& file);

}  // namespace freehca::keeper

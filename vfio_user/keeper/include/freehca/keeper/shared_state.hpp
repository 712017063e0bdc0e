// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/vfio_user/channel.hpp>

namespace freehca::keeper {

/// Memory that the process of the adapter shares with the one that keeps its client, and with the
/// process that comes after it.
struct shared_state {
  /// The request that was taken from the connection and is not answered yet.
  vfio_user::landing request;
  /// That request is done, and the keeper has been told of it.
  bool request_is_kept;
  /// Counts the requests of the client that were answered or refused, by all processes.
  std::uint64_t requests_done;
  /// Processes died of that request: the next one refuses it and does not do it.
  bool refuse_request;
  /// The keeper could not be told something: what it has is not what the client has told.
  bool keeper_is_behind;
  /// As it was when the last request was answered, or kept.
  std::array<std::uint8_t, 4096> configuration_space;
};

/// Null: there is no memory. For as long as the process lives.
shared_state* make_shared_state();

}  // namespace freehca::keeper

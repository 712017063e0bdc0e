// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <span>
#include <utility>

#include <freehca/keeper/kept_client.hpp>
#include <freehca/keeper/shared_state.hpp>

#include "configuration_space.hpp"

namespace freehca::device_server {

/// Reports to the process that keeps the client (restarts.hpp), from the process of the adapter.
/// Without such a process nothing is reported.
class keeper_side {
 public:
  keeper_side() = default;
  /// In a child of the keeper's.
  keeper_side(vfio_user::descriptor link, keeper::shared_state* state)
      : link_(std::move(link)), state_(state), keeper_(getppid()) {}

  /// Whether it can be told something.
  bool there() const { return link_.open(); }
  /// Whether there is one, even if it cannot be told anything any more.
  bool lives() const { return state_ != nullptr && getppid() == keeper_; }
  /// Null: there never was a keeper.
  keeper::shared_state* state() { return state_; }

  void tell(keeper::record what, std::span<const int> files = {});
  /// A request that was done, and is not answered yet.
  void tell(const vfio_user::message& done, const configuration_space& space,
            std::span<const int> files = {});
  /// Keeps a copy of configuration space for the process that follows this one.
  void note(const configuration_space& space);
  /// The request in hand is done, and will be answered, or needs no answer.
  void request_done(const configuration_space& space);

 private:
  bool send(vfio_user::header head, std::span<const std::byte> body, std::span<const int> files);

  vfio_user::channel link_;
  keeper::shared_state* state_ = nullptr;
  pid_t keeper_ = -1;
  unsigned changes_ = ~0u;  ///< of configuration space, when it was noted
};

}  // namespace freehca::device_server

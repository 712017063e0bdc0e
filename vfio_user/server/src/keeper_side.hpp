// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <span>
#include <string_view>
#include <utility>

#include <freehca/keeper/kept_client.hpp>
#include <freehca/keeper/shared_state.hpp>

#include "configuration_space.hpp"

namespace freehca::device_server {

/// Sends reports from the adapter's process to the keeper (restarts.hpp). Without a keeper it does
/// nothing.
class keeper_side {
 public:
  keeper_side() = default;
  /// For a child of the keeper.
  keeper_side(vfio_user::descriptor link, keeper::shared_state* state)
      : keeper_side(vfio_user::channel(std::move(link)), state) {}
  keeper_side(vfio_user::channel link, keeper::shared_state* state)
      : link_(std::move(link)), state_(state), keeper_(getppid()) {}

  /// Whether reports can be sent to the keeper.
  bool there() const { return link_.open(); }
  /// Whether there is a keeper, even if reports cannot be sent any more.
  bool lives() const { return state_ != nullptr && getppid() == keeper_; }
  /// The memory shared with the keeper. Null: there never was a keeper.
  keeper::shared_state* state() { return state_; }

  void tell(keeper::record what, std::span<const int> files = {}, std::string_view text = {});
  /// Waits for the next record of the keeper. Returns false if the keeper is gone.
  bool wait_for_record(vfio_user::message& to);
  /// Reports a request that is done and has no reply yet.
  void tell(const vfio_user::message& done, const configuration_space& space,
            std::span<const int> files = {});
  /// Keeps a copy of configuration space for the process that follows this one.
  void note(const configuration_space& space);
  /// Called when the request in hand is done and its reply, if it needs one, was sent.
  void request_done();

 private:
  bool send(vfio_user::header head, std::span<const std::byte> body, std::span<const int> files);

  vfio_user::channel link_;
  keeper::shared_state* state_ = nullptr;
  pid_t keeper_ = -1;
  unsigned changes_ = ~0u;  ///< configuration space's count at the last copy
};

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "keeper_side.hpp"

#include "report.hpp"

namespace freehca::device_server {

using namespace vfio_user;

void keeper_side::send(header head, std::span<const std::byte> body, std::span<const int> files) {
  if (!there() || link_.send(head, body, {}, files)) return;
  report("the process that keeps the client has gone; when this one dies, so does the adapter");
  link_.close();
}

void keeper_side::tell(keeper::record what, std::span<const int> files) {
  send({0, static_cast<std::uint16_t>(what), 0, type_command, 0}, {}, files);
}

void keeper_side::tell(const message& done, std::span<const int> files) {
  if (!there()) return;
  send({0, done.head.command, 0, type_command, 0}, done.body, files);
  state_->request_is_kept = true;
}

void keeper_side::request_done(const configuration_space& space) {
  if (state_ == nullptr) return;
  if (changes_ != space.changes()) {
    changes_ = space.changes();
    state_->configuration_space = space.image();
  }
  state_->request.clear();
  state_->request_is_kept = false;
}

}  // namespace freehca::device_server

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "keeper_side.hpp"

#include "report.hpp"

namespace freehca::device_server {

using namespace vfio_user;

bool keeper_side::send(header head, std::span<const std::byte> body, std::span<const int> files) {
  if (!there()) return false;
  if (link_.send(head, body, {}, files)) return true;
  state_->keeper_is_behind = true;
  report("the process that keeps the client cannot be told; when this one dies, the client goes");
  link_.close();
  return false;
}

void keeper_side::tell(keeper::record what, std::span<const int> files) {
  send({0, static_cast<std::uint16_t>(what), 0, type_command, 0}, {}, files);
}

void keeper_side::tell(const message& done, const configuration_space& space,
                       std::span<const int> files) {
  if (!there()) return;
  note(space);
  state_->request_is_kept = send({0, done.head.command, 0, type_command, 0}, done.body, files);
}

void keeper_side::note(const configuration_space& space) {
  if (state_ == nullptr || changes_ == space.changes()) return;
  changes_ = space.changes();
  state_->configuration_space = space.image();
}

void keeper_side::request_done() {
  if (state_ != nullptr) state_->request_done();
}

}  // namespace freehca::device_server

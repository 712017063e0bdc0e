// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "keeper_side.hpp"

#include <poll.h>

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

void keeper_side::tell(keeper::record what, std::span<const int> files, std::string_view text) {
  send(keeper::record_head(what), std::as_bytes(std::span(text.data(), text.size())), files);
}

bool keeper_side::wait_for_record(message& to) {
  while (there()) {
    const arrival what = link_.receive(to);
    if (what == arrival::message) return true;
    if (what != arrival::nothing) link_.close();
    pollfd one{link_.socket(), POLLIN, 0};
    poll(&one, 1, -1);
  }
  return false;
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

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Continues with the client of another process, which died or has handed over.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "session.hpp"
#include "without_exceptions.hpp"

namespace freehca::device_server {

using namespace vfio_user;

void session::repeat_requests(keeper::kept_client& from, doorbell_pages::doorbells what) {
  channel_ = channel(std::move(from.connection()));
  if (!function_->adopt_doorbell_pages(std::move(from.doorbell_pages()), what)) lost_ = true;
  keeper_side nobody;
  keeper_side* const keeper = std::exchange(keeper_, &nobody);
  const bool had_memory = without_exceptions([&] {
    from.tell_again([this](message repeated) {
      repeated.head.flags = type_command | flag_no_reply;
      if (handle(repeated) != 0) lost_ = true;
    });
  });
  if (!had_memory) lost_ = true;
  keeper_ = keeper;
}

bool session::take_over(keeper::kept_client& from) {
  repeat_requests(from, doorbell_pages::doorbells::kept);
  channel_.land_in(&keeper_->state()->request);
  return !lost_;
}

bool session::resume(keeper::kept_client& from) {
  repeat_requests(from, doorbell_pages::doorbells::discarded);
  function_->go_on_after_death(keeper_->state()->configuration_space);
  channel_.land_in(&keeper_->state()->request);
  if (!lost_) answer_in_hand();
  return !lost_;
}

// Executes the request that the dead process had taken and not answered. It may be executed for the
// second time, which is harmless: the adapter has an internal error and ignores its registers.
void session::answer_in_hand() {
  const keeper::shared_state& state = *keeper_->state();
  if (state.request.is_cut()) lost_ = true;
  if (lost_ || !state.request.holds_message()) return;
  message request;
  request.head = state.request.head;
  const auto& landed = state.request.body;
  const std::size_t bytes =
      std::clamp<std::size_t>(request.head.bytes, sizeof(header), sizeof(header) + landed.size()) -
      sizeof(header);
  if (!without_exceptions([&] { request.body.assign(landed.begin(), landed.begin() + bytes); })) {
    refuse(request, ENOMEM);
    return;
  }
  const auto what = static_cast<command>(request.head.command);
  if (state.request_is_kept && (what == command::dma_map || what == command::device_set_irqs)) {
    succeed(request);
  } else if (what == command::version || what == command::dma_map) {
    // The request may have had a descriptor, which the dead process took with it.
    lost_ = true;
  } else if (const auto lines = beginning<irq_set>(request.body);
             what == command::device_set_irqs && lines && (lines->flags & irq_set_eventfd) != 0) {
    refuse(request, EIO);
  } else if (state.refuse_request) {
    refuse(request, EIO);
  } else {
    answer(request);
  }
}

}  // namespace freehca::device_server

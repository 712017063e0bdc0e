// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/queues/cq.hpp>

#include <freehca/hca/objects/creation.hpp>

namespace freehca {

struct completion_queue_attributes {
  std::uint32_t entries =
      0;  ///< completions that fit, at least; one more entry of the ring stays empty
  /// The event context that reports the completions. If the control owner creates the queue, this
  /// is an index of device::completion_context(). If an event owner creates it, this is 0. Error:
  /// driver_error::bad_argument (the event context does not exist, or it has another owner).
  unsigned completion_context = 0;
  void* cookie = nullptr;  ///< passed back in the events of the queue
};

/// Receives the completions of work requests, from any number of queue pairs.
struct completion_queue : queue_object {
  using attributes = completion_queue_attributes;
  using creating = commands::sw2hw_cq;
  static constexpr kind_facts facts{.name = "completion queue",
                                    .item = 0x44,
                                    .numbers = &number_spaces::cqs,
                                    .group = context_group::cq,
                                    .destroying = taking_back<commands::hw2sw_cq>};

  queues::cq rings;                 ///< for polling and arming
  event_context* events = nullptr;  ///< reports the completions

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
  void notice(verbs& in, const object_event& event);
  void hand_over(verbs& in);
};
static_assert(sizeof(void*) != 8 || sizeof(completion_queue) == 408);

using create_completion_queue = create_object<completion_queue>;
/// Fails with driver_error::busy while a queue pair refers to the completion queue.
using destroy_completion_queue = destroy_object<completion_queue>;

}  // namespace freehca

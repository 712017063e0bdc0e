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
      0;  ///< at least that many completions fit; one more place is the hardware's
  /// Whose event queue tells of it: device::completion_context() where the control owner makes it,
  /// 0 where the owner of an event context does. driver_error::bad_argument: there is none, or it
  /// has another owner.
  unsigned completion_context = 0;
  void* cookie = nullptr;  ///< comes with its events
};

/// Where requests complete: any number of queue pairs to one.
struct completion_queue : queue_object {
  using attributes = completion_queue_attributes;
  using creating = commands::sw2hw_cq;
  static constexpr kind_facts facts{.name = "completion queue",
                                    .item = 0x44,
                                    .numbers = &number_spaces::cqs,
                                    .group = context_group::cq,
                                    .destroying = taking_back<commands::hw2sw_cq>};

  queues::cq rings;                 ///< polls and arms
  event_context* events = nullptr;  ///< tells of it

  status build(verbs& in, const attributes& a, creation<creating>& to);
  void strip(verbs& in);
  void notice(verbs& in, const object_event& event);
  void hand_over(verbs& in);
};
static_assert(sizeof(void*) != 8 || sizeof(completion_queue) == 480);

using create_completion_queue = create_object<completion_queue>;
/// driver_error::busy while queue pairs complete to it.
using destroy_completion_queue = destroy_object<completion_queue>;

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/kinds/resizable_completion_queue.hpp>

namespace freehca {

/// A completion queue that also receives the completions of XRC receive queues. It can be resized,
/// and used wherever a completion queue is required. Its user polls it by take(). The other
/// functions that poll (`rings`) drop the receives of XRC receive queues.
struct xrc_completion_queue : resizable_completion_queue {
  using stands_in_for = resizable_completion_queue;
  static constexpr kind_facts facts =
      facts_like(completion_queue::facts, "XRC completion queue", 0x51);

  /// Like queues::cq::poll(). work_completion::queue of an XRC receive is xrc_receive_queue::named
  /// of its queue. work_completion::qpn() is the number of the XRC target.
  unsigned take(queues::work_completion* to, unsigned most);
  void hand_over(verbs& in);

 private:
  /// Returns null if no receive queue of this completion queue has the number.
  queues::qp_rings* rings_of(std::uint32_t srqn);
  [[gnu::noinline]] unsigned take_any(queues::work_completion* to, unsigned most);
};
static_assert(sizeof(void*) != 8 ||
              sizeof(xrc_completion_queue) == sizeof(resizable_completion_queue));

using xrc_cq_handle = handle<xrc_completion_queue>;
using create_xrc_completion_queue = create_object<xrc_completion_queue>;
using destroy_xrc_completion_queue = destroy_object<xrc_completion_queue>;

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/counting.hpp>

#include <freehca/hca/kinds/completion_queue.hpp>

namespace freehca {

/// A completion queue that counts the work requests that have ended, and records whether a request
/// failed. verbs::poll() takes the completions and counts them. Other code must not poll or arm the
/// ring. The queue can be used wherever a completion queue is required. If a queue pair is
/// destroyed or moved to RESET, only those of its completions count that verbs::poll() had taken
/// before.
struct counting_completion_queue : completion_queue {
  using stands_in_for = completion_queue;
  static constexpr kind_facts facts =
      facts_like(completion_queue::facts, "counting completion queue", 0x45);

  queues::counting counts;

  /// Requests one call of verbs_events::completion. The call comes when `successes` work requests
  /// have succeeded in all, or when a work request has failed. If that is the case already, the
  /// call comes at the next verbs::poll(), which is then due at once. A reset of the device causes
  /// the call too, because no more work requests will succeed. Without wake_at() there is no call.
  /// After a work request has failed, each wake_at() causes a call at the next verbs::poll().
  void wake_at(std::uint64_t successes) {
    counts.threshold = successes;
    waited_for_ = true;
  }

  status plan(verbs& in, const attributes& a, creation<creating>& to) {
    counts = {};
    waited_for_ = has_event_ = false;
    return completion_queue::plan(in, a, to);
  }
  void resume() { rings.arm(); }
  void notice(verbs& in, const object_event& event) {
    if (event.what != object_event::family::completion) return completion_queue::notice(in, event);
    rings.on_event();
    has_event_ = true;
  }
  unsigned poll(verbs& in) {
    const unsigned taken = counts.drain(rings, rings.entries());
    // A completion that arrived after drain() counts as new for arm(). The device therefore sends
    // its event at once. If the device is being reset, the queue is not armed.
    if (has_event_ && in.up()) {
      rings.arm();
      has_event_ = false;
    }
    if (due()) tell(in);
    return taken;
  }
  bool due() const { return waited_for_ && counts.reached(); }
  /// The completions in the ring are counted, as poll() would have counted them. They are not
  /// reported one by one.
  void hand_over(verbs& in) {
    if (rings.is_open()) counts.drain(rings, rings.entries());
    if (waited_for_) tell(in);
  }

 private:
  void tell(verbs& in) {
    waited_for_ = false;
    const verbs_events& to = in.events();
    if (to.completion != nullptr)
      to.completion(to.context, verbs::handle_of<completion_queue>(*this), cookie);
  }

  bool waited_for_ = false;
  bool has_event_ = false;  // an event has come, and the ring was not armed since
};
static_assert(sizeof(void*) != 8 || sizeof(counting_completion_queue) == 496);

using create_counting_completion_queue = create_object<counting_completion_queue>;
using destroy_counting_completion_queue = destroy_object<counting_completion_queue>;

}  // namespace freehca

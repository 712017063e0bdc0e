// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/counting.hpp>

#include <freehca/hca/kinds/completion_queue.hpp>

namespace freehca {

/// A completion queue for whoever wants to know only how many requests have ended, and whether one
/// failed. verbs::poll() takes its completions and counts them: nobody else polls or arms its ring.
/// It stands in for a completion queue wherever one is asked for. Of a queue pair that is destroyed
/// or moved to RESET it counts what verbs::poll() had taken by then.
struct counting_completion_queue : completion_queue {
  using stands_in_for = completion_queue;
  static constexpr kind_facts facts = [] {
    kind_facts f = completion_queue::facts;
    f.name = "counting completion queue";
    f.item = 0x45;
    return f;
  }();

  queues::counting counts;

  /// Asks to be told once (verbs_events::completion) when so many requests have succeeded in all,
  /// or when one has failed; at the next verbs::poll(), which is due then, if that is so already.
  /// It is told too when the device is reset, for no more will succeed. Until then nobody is told.
  /// Once a request has failed each call is answered like that.
  void wake_at(std::uint64_t successes) {
    counts.threshold = successes;
    waited_for_ = true;
  }

  status build(verbs& in, const attributes& a, creation<creating>& to) {
    counts = {};
    waited_for_ = has_event_ = false;
    return completion_queue::build(in, a, to);
  }
  void resume() { rings.arm(); }
  void notice(verbs& in, const object_event& event) {
    if (event.what != object_event::family::completion) return completion_queue::notice(in, event);
    rings.on_event();
    has_event_ = true;
  }
  unsigned poll(verbs& in) {
    const unsigned taken = counts.drain(rings, rings.entries());
    // What came since counts as next: the device sends its event at once. One that is being reset
    // is left alone.
    if (has_event_ && in.up()) {
      rings.arm();
      has_event_ = false;
    }
    if (due()) tell(in);
    return taken;
  }
  bool due() const { return waited_for_ && counts.reached(); }
  /// They would have been counted, had anybody polled: nobody is told of each.
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
  bool has_event_ = false;  // that was asked for, and not asked for anew
};
static_assert(sizeof(void*) != 8 || sizeof(counting_completion_queue) == 568);

using create_counting_completion_queue = create_object<counting_completion_queue>;
using destroy_counting_completion_queue = destroy_object<counting_completion_queue>;

}  // namespace freehca

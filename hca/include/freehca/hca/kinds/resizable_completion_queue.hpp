// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/completion_queue.hpp>

namespace freehca {

struct completion_ring_attributes {
  std::uint32_t entries = 0;  ///< as in completion_queue_attributes
};

/// The ring that a completion queue gets when it is resized. Afterwards this object has the ring
/// that the queue had before. It can be destroyed then, or be used to resize a queue again. While
/// it exists it takes the number of a completion queue.
struct completion_ring : queue_object {
  using attributes = completion_ring_attributes;
  using creating = nothing;
  // The device does not know it, so no command destroys it.
  static constexpr kind_facts facts{.name = "completion ring",
                                    .item = 0x54,
                                    .numbers = &number_spaces::cqs,
                                    .group = context_group::cq,
                                    .destroying = taking_back<commands::hw2sw_cq>};

  std::uint32_t log_entries = 0;

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs&, const attributes&, creation<creating>&) { return {}; }
  void strip(verbs&) {}
};

using create_completion_ring = create_object<completion_ring>;
/// Fails with driver_error::busy while the queue is resized, or if it is in doubt whether it was.
using destroy_completion_ring = destroy_object<completion_ring>;

/// A completion queue that can be resized. It can be used wherever a completion queue is required.
struct resizable_completion_queue : completion_queue {
  using stands_in_for = completion_queue;
  static constexpr kind_facts facts =
      facts_like(completion_queue::facts, "resizable completion queue", 0x55);

  completion_ring* next = nullptr;  ///< the ring of a resize that has not ended

  void strip(verbs& in) {
    next = nullptr;
    completion_queue::strip(in);
  }
  /// Records the end of the resize. If it was done, the queue and `next` exchange their rings.
  void settle_change(bool done);
};

using create_resizable_completion_queue = create_object<resizable_completion_queue>;
using destroy_resizable_completion_queue = destroy_object<resizable_completion_queue>;

/// Gives a completion queue another ring, which may have more or fewer entries. The queue can be
/// polled and armed meanwhile. The completions that were not polled stay. The device writes one
/// entry more into the old ring, so that the queue must not be full.
///
/// Errors: driver_error::busy (the ring is used by another resize), ::bad_argument
/// (attribute_id::completion_entries: the new ring does not hold the completions that were not
/// polled, and one more), ::unsupported (queues::cq::can_move() is false). If the command is not
/// answered, the queue goes on in its old ring until the late answer.
class resize_completion_queue : public object_operation {
 public:
  resize_completion_queue() = default;
  ~resize_completion_queue() { drop(); }

  void start(verbs& owner, handle<resizable_completion_queue> which, handle<completion_ring> to);

 private:
  static void finished(object_operation& op, status outcome) noexcept;
  firmware_command<commands::modify_cq> resize_{std::uint32_t{0},
                                                layouts::modify_cq_modifier::resize};
};

/// Reports the completions of an armed queue later, and several by one event: when `completions`
/// have come, or `microseconds` after the first one. With zeros, each completion is reported at
/// once, as before the first use. No value is refused.
class moderate_completion_queue : public object_operation {
 public:
  moderate_completion_queue() = default;
  ~moderate_completion_queue() { drop(); }

  void start(verbs& owner, cq_handle which, std::uint16_t completions, std::uint16_t microseconds) {
    if (!startable()) return;
    completion_queue* const queue = owner.find(which);
    if (const status s = verbs::usable(queue); !s.ok()) return refuse(owner, s);
    moderate_.restart();
    moderate_.aim(queue->number, layouts::modify_cq_modifier::moderation);
    moderate_.input = {};
    moderate_.input.set<&layouts::cqc::cq_max_count>(completions)
        .set<&layouts::cqc::cq_period>(microseconds);
    start_command(*queue, step::modify, moderate_, nullptr);
  }

 private:
  firmware_command<commands::modify_cq> moderate_{std::uint32_t{0},
                                                  layouts::modify_cq_modifier::moderation};
};

}  // namespace freehca

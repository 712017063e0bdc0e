// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/resizable_completion_queue.hpp>

#include <freehca/layouts/bit_operations.hpp>

#include "exchange.hpp"

namespace freehca {

using namespace layouts;

status completion_ring::plan(verbs& in, const attributes& a, creation<creating>&) {
  const capabilities& can = in.adapter().capabilities();
  const unsigned log_most = can.log_most_cqes < 22 ? can.log_most_cqes : 22;
  FREEHCA_TRY(
      in.refused().check(attribute_id::completion_entries, a.entries, (1u << log_most) - 1, 1));
  log_entries = layouts::bit_width(a.entries);
  return in.plan_rings(*this, queues::cq::ring_bytes(log_entries, can.cqe_bytes), 0, 0);
}

void resizable_completion_queue::settle_change(bool done) {
  completion_ring* const other = next;
  if (other == nullptr) return;
  next = nullptr;
  for (object_record*& used : uses)
    if (used == other) {
      --other->users;
      used = nullptr;
    }
  if (!done) return;
  const unsigned log_before = layouts::bit_width(rings.entries()) - 1;
  // The ring was made for entries of this size, so the move is not refused.
  static_cast<void>(rings.move_to(other->ring, other->log_entries));
  other->log_entries = log_before;
  exchange(ring, other->ring);
  exchange(translations, other->translations);
  exchange(translation_count, other->translation_count);
  exchange(log_page, other->log_page);
  set_translations_at_risk(*this);
  set_translations_at_risk(*other);
}

// The fields are set as in Linux (6.1 mlx4/cq.c mlx4_cq_resize).
void resize_completion_queue::start(verbs& owner, handle<resizable_completion_queue> which,
                                    handle<completion_ring> to) {
  if (!startable()) return;
  resizable_completion_queue* const queue = owner.find(which);
  completion_ring* const ring = owner.find(to);
  status s = verbs::usable(queue);
  if (s.ok()) s = verbs::usable(ring);
  if (s.ok() && ring->users != 0) s = driver_error::busy;
  if (s.ok() && !queue->rings.can_move()) s = driver_error::unsupported;
  if (s.ok())
    s = owner.refused().check(attribute_id::completion_entries, 1u << ring->log_entries, 1u << 22,
                              queue->rings.unpolled() + 1);
  if (!s.ok()) return refuse(owner, s);
  resize_.restart();
  resize_.aim(queue->number, modify_cq_modifier::resize);
  resize_.input = {};
  resize_.input.set<&cqc::log_cq_size>(ring->log_entries)
      .set<&cqc::log_page_size>(ring->log_page - 12u)
      .set<&cqc::mtt_base_addr>(owner.adapter().contexts().translation_offset(ring->translations));
  queue->use(*ring);
  queue->next = ring;
  start_command(*queue, step::modify, resize_, &finished);
}

void resize_completion_queue::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<resize_completion_queue&>(op);
  auto& queue = static_cast<resizable_completion_queue&>(self.object());
  if (!queue.in_doubt()) queue.settle_change(outcome.ok());
}

}  // namespace freehca

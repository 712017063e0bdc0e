// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/completion_queue.hpp>

#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

using namespace layouts;

status completion_queue::plan(verbs& in, const attributes& a, creation<creating>&) {
  const capabilities& can = in.adapter().capabilities();
  // One entry stays empty, as in Linux (6.1 hw/mlx4/cq.c mlx4_ib_create_cq).
  const auto log_entries = layouts::bit_width(a.entries);
  const unsigned log_most = can.log_most_cqes < 22 ? can.log_most_cqes : 22;
  refused_attribute& note = in.refused();
  FREEHCA_TRY(note.check(attribute_id::completion_entries, a.entries, (1u << log_most) - 1, 1));
  event_context* const events_of = in.event_queue(a.completion_context);
  if (events_of == nullptr)
    return note.refuse(attribute_id::completion_context, a.completion_context,
                       a.completion_context);
  events = events_of;
  events->attach();
  cookie = a.cookie;
  return in.plan_rings(*this, queues::cq::ring_bytes(log_entries, can.cqe_bytes),
                       cq_doorbell_record::bytes, 0);
}

status completion_queue::build(verbs& in, const attributes& a, creation<creating>& to) {
  device& adapter = in.adapter();
  const auto log_entries = layouts::bit_width(a.entries);
  FREEHCA_TRY(rings.open({.ring = ring,
                          .log_entries = log_entries,
                          .entry_bytes = adapter.capabilities().cqe_bytes,
                          .record = record,
                          .uar = in.uar().doorbells,
                          .cqn = number,
                          .queue_pairs = &in.queue_pairs()}));
  in.completion_queues().add(*this);

  image<cqc> context;
  context.set<&cqc::log_cq_size>(log_entries).set<&cqc::usr_page>(in.uar().index);
  context.set<&cqc::comp_eqn>(events->eqn());
  context.set<&cqc::log_page_size>(log_page - 12u)
      .set<&cqc::mtt_base_addr>(adapter.contexts().translation_offset(translations));
  context.set<&cqc::db_rec_addr>(record.device_address);
  to.command.aim(number);
  to.command.input = context;
  return {};
}

void completion_queue::strip(verbs& in) {
  if (events != nullptr) events->detach();
  events = nullptr;
  if (number != none) in.completion_queues().remove(*this);
  rings.close();
}

void completion_queue::notice(verbs& in, const object_event& event) {
  const verbs_events& to = in.events();
  const cq_handle self = verbs::handle_of(*this);
  if (event.what == object_event::family::cq_error) {
    if (to.cq_error != nullptr) to.cq_error(to.context, self, cookie, event.syndrome);
    return;
  }
  rings.on_event();
  if (to.completion != nullptr) to.completion(to.context, self, cookie);
}

void completion_queue::hand_over(verbs& in) {
  if (!rings.is_open()) return;
  queues::work_completion completion;
  // The number of entries bounds the loop, whatever the ring contains.
  for (std::uint32_t n = 0; n < rings.entries() && rings.poll(&completion, 1) == 1; ++n) {
    const auto& pair = *static_cast<const queue_object*>(completion.queue->owner);
    in.tell_ended({pair.index, pair.generation}, pair.cookie, completion, {});
  }
}

}  // namespace freehca

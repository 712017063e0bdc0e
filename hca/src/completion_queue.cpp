// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/completion_queue.hpp>

#include <freehca/hca/verbs.hpp>
#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

using namespace layouts;

void create_completion_queue::start(verbs& owner, const completion_queue_attributes& a) {
  if (!startable()) return;
  queue_ = {};
  if (!owner.is_open() || !owner.on().up()) return refuse(owner, driver_error::bad_state);
  device& on = *owner.device_;
  const capabilities& can = on.capabilities();
  // One place stays empty, as every driver keeps it (Linux 6.1 hw/mlx4/cq.c mlx4_ib_create_cq).
  const auto log_entries = layouts::bit_width(a.entries);
  if (a.entries == 0 || a.completion_context >= on.completion_contexts() ||
      log_entries > can.log_most_cqes || log_entries > 22)
    return refuse(owner, driver_error::bad_argument);
  completion_queue* const cq = owner.completion_queues_.take();
  if (cq == nullptr)
    return refuse(owner, status(driver_error::no_resource,
                                static_cast<unsigned>(verbs_budget::item::completion_queues)));
  cq->group = context_group::cq;
  cq->cookie = a.cookie;
  const status s = owner.set_up(*cq, log_entries);
  if (!s.ok()) {
    owner.release(*cq);
    return refuse(owner, s);
  }
  owner.cq_by_number_[cq->number & owner.cq_mask_] = cq;

  image<cqc> context;
  context.set<&cqc::log_cq_size>(log_entries).set<&cqc::usr_page>(on.uar().index);
  context.set<&cqc::comp_eqn>(on.completion_context(a.completion_context).eqn());
  context.set<&cqc::mtt_base_addr>(on.contexts().translation_offset(cq->translations));
  context.set<&cqc::db_rec_addr>(cq->record.device_address);
  create_.restart();
  create_.aim(cq->number);
  create_.input = context;
  start_creation(owner, *cq, &create_, &write_translations, &finished);
}

status verbs::set_up(completion_queue& cq, unsigned log_entries) {
  FREEHCA_TRY(take_number(cq, context_group::cq));
  const unsigned entry_bytes = device_->capabilities().cqe_bytes;
  const result<dma_region> ring =
      device_->arena().allocate(queues::cq::ring_bytes(log_entries, entry_bytes), dma_arena::page);
  if (!ring.ok()) return ring.error();
  cq.ring = ring.value();
  const result<dma_region> record = device_->doorbells().allocate(cq_doorbell_record::bytes);
  if (!record.ok()) return record.error();
  cq.record = record.value();
  FREEHCA_TRY(take_translations(cq, cq.ring.bytes / dma_arena::page));
  return cq.rings.open({.ring = cq.ring,
                        .log_entries = log_entries,
                        .entry_bytes = entry_bytes,
                        .record = cq.record,
                        .uar = device_->uar().doorbells,
                        .cqn = cq.number,
                        .queue_pairs = &directory_});
}

void create_completion_queue::write_translations(object_operation& op) noexcept {
  auto& self = static_cast<create_completion_queue&>(op);
  self.owner().write_translations(self.object(), page_list(self.object().ring, 12));
}

void create_completion_queue::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<create_completion_queue&>(op);
  if (outcome.ok())
    self.queue_ =
        self.owner().completion_queues_.handle_of(static_cast<completion_queue&>(self.object()));
}

void destroy_completion_queue::start(verbs& owner, cq_handle h) {
  if (!startable()) return;
  completion_queue* const cq = owner.completion_queues_.find(h);
  if (const status s = verbs::check_usable(cq); !s.ok()) return refuse(owner, s);
  start_destruction(owner, *cq, nullptr);
}

void verbs::strip(completion_queue& cq) {
  if (cq.number != object_record::none) {
    if (cq_by_number_[cq.number & cq_mask_] == &cq) cq_by_number_[cq.number & cq_mask_] = nullptr;
    device_->numbers().cqs.free(cq.number);
  }
  cq.rings.close();
}

queues::cq* verbs::queue(cq_handle h) const {
  completion_queue* const cq = completion_queues_.find(h);
  return cq != nullptr ? &cq->rings : nullptr;
}

}  // namespace freehca

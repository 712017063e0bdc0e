// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What becomes of work requests and objects when the device was reset.
#include <freehca/hca/verbs.hpp>

namespace freehca {

void verbs::tell_ended(const queue_pair& pair, const queues::work_completion& how, status why) {
  if (events_.request_ended != nullptr)
    events_.request_ended(events_.context, queue_pairs_.handle_of(pair), pair.cookie, how, why);
}

/// What the device told before it died is true: those requests end as it says.
void verbs::hand_over_completions() {
  for (std::uint32_t i = 0; i < completion_queues_.count(); ++i) {
    queues::cq& cq = completion_queues_.at(i).rings;
    queues::work_completion how;
    // A ring has so many entries at most, whatever stands in them.
    for (std::uint32_t n = 0; n < cq.entries() && cq.poll(&how, 1) == 1; ++n)
      tell_ended(*static_cast<const queue_pair*>(how.queue->owner), how, {});
  }
}

void verbs::end_requests() {
  if (!is_open()) return;
  // Who is told of one request must not post the next to a queue that nobody looks at any more.
  for (std::uint32_t i = 0; i < queue_pairs_.count(); ++i) {
    queue_pairs_.at(i).rings.send.accept(false);
    queue_pairs_.at(i).rings.receive.accept(false);
  }
  hand_over_completions();
  const status why = failure_.ok() ? status(transport_error::reset) : failure_;
  for (std::uint32_t i = 0; i < queue_pairs_.count(); ++i) {
    queue_pair& pair = queue_pairs_.at(i);
    queues::work_completion how;
    how.status = queues::completion_status::device_reset;
    how.queue = &pair.rings;
    how.set_qpn(pair.rings.qpn);
    while (const queues::posted_request* const sent = pair.rings.send.retire_oldest()) {
      how.wr_id = sent->wr_id;
      how.opcode = sent->opcode;
      tell_ended(pair, how, why);
    }
    how.opcode = queues::work_opcode::receive;
    while (const queues::posted_request* const posted = pair.rings.receive.retire_oldest()) {
      how.wr_id = posted->wr_id;
      tell_ended(pair, how, why);
    }
  }
}

template <class Objects>
void verbs::forget_all(Objects& objects) {
  for (std::uint32_t i = 0; i < objects.count(); ++i) {
    object_record& object = objects.at(i);
    if (object.state == object_record::phase::free) continue;
    // An operation at work ends by the reset too, and a lease in doubt settles by it: both release
    // the record, but perhaps when the device has other uses for the numbers.
    strip(object);
    if (object.under_change) object.forgotten = true;
    else if (!object.at_risk()) release(object);
  }
}

void verbs::forget() {
  if (!is_open()) return;
  // Once more: the end of a transition may have let something be posted since.
  end_requests();
  forget_all(queue_pairs_);
  forget_all(completion_queues_);
  forget_all(regions_);
  for (std::uint32_t i = 0; i < domains_.count(); ++i) {
    protection_domain& domain = domains_.at(i);
    if (domain.number == protection_domain::none) continue;
    device_->numbers().pds.free(domain.number);
    domain.number = protection_domain::none;
    domains_.give_back(domain);
  }
  // The next reset has its own reason.
  failure_ = {};
}

}  // namespace freehca

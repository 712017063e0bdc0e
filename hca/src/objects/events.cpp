// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

namespace {

using family = object_event::family;

verbs& verbs_at(void* self) {
  return *static_cast<verbs*>(self);
}

}  // namespace

void verbs::notice(object_record* object, const object_event& event) {
  if (object != nullptr && object->what->notice != nullptr)
    object->what->notice(*this, *object, event);
}

event_sinks verbs::sinks() {
  event_sinks sinks;
  sinks.context = this;
  sinks.completion_queues = &completion_queues_;
  sinks.objects = this;
  sinks.qp = [](void* self, std::uint32_t qpn, layouts::event_type type) noexcept {
    verbs& v = verbs_at(self);
    const queues::qp_rings* const rings = v.queue_pairs_.find(qpn);
    if (rings != nullptr)
      v.notice(static_cast<queue_object*>(rings->owner), {.what = family::state, .type = type});
  };
  sinks.srq = [](void* self, std::uint32_t srqn, layouts::event_type type) noexcept {
    verbs& v = verbs_at(self);
    v.notice(v.shared_receive_queues_.find(srqn), {.what = family::state, .type = type});
  };
  sinks.port = [](void* self, unsigned port) noexcept {
    const verbs_events& to = verbs_at(self).events_;
    if (to.port != nullptr) to.port(to.context, port);
  };
  sinks.device_failed = [](void* self, status why) noexcept {
    verbs& v = verbs_at(self);
    v.failure_ = why;
    if (v.events_.device_failed != nullptr) v.events_.device_failed(v.events_.context, why);
  };
  sinks.was_reset = [](void* self) noexcept { verbs_at(self).end_requests(); };
  sinks.forgotten = [](void* self) noexcept { verbs_at(self).forget(); };
  return sinks;
}

// ---- The end of work requests and objects after a reset of the device.

void verbs::end_requests() {
  if (!is_open()) return;
  // A callback that receives one request must not post the next request to a queue that the device
  // does not process any more.
  each([](object_record& object) {
    if (object.what->suspend != nullptr) object.what->suspend(object);
  });
  // Completions that the device wrote before it failed are valid. Their requests end with these
  // completions.
  each([this](object_record& object) {
    if (object.what->hand_over != nullptr) object.what->hand_over(*this, object);
  });
  const status why = failure_.ok() ? status(transport_error::reset) : failure_;
  each([this, why](object_record& object) {
    if (object.what->end_requests != nullptr) object.what->end_requests(*this, object, why);
  });
}

void verbs::forget() {
  if (!is_open()) return;
  // Called once more, because the end of a transition may have permitted posts since the first
  // call.
  end_requests();
  each([this](object_record& object) {
    // The reset also ends an operation that works on the object, and settles a lease in doubt. Both
    // release the object, but perhaps only after the device has other uses for the numbers. The
    // resources are therefore given back now.
    using enum object_record::phase;
    if (!object.under_change() && !object.in_doubt()) return release(object);
    strip(object);
    const bool settled_first = object.state == settled || object.state == forgotten_settled;
    object.state = object.in_doubt() ? doubtful_forgotten
                   : settled_first   ? forgotten_settled
                                     : forgotten;
  });
  // The next reset has its own reason.
  failure_ = {};
}

}  // namespace freehca

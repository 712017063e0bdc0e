// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/owners/event_verbs.hpp>

namespace freehca {

namespace {

using of_operation = crossing_of<object_operation>;
using of_object = crossing_of<device_object>;
using of_link = crossing_of<owner_link>;

}  // namespace

const verbs::location event_verbs::at_event_context = {
    .poll = [](verbs& v) { return of(v).take(); },
    .next_deadline =
        [](const verbs& v) {
          const event_verbs& self = of(v);
          const std::uint64_t next = self.own_.next_deadline();
          if (!self.working_) return next;
          if (!self.link_.events.empty() || self.context_->due()) return std::uint64_t{0};
          return clock::earlier(next, self.device_->next_look_at_events(*self.context_));
        },
    .up = [](const verbs& v) { return of(v).working_; },
    .prepare_to_sleep =
        [](verbs& v) {
          event_verbs& self = of(v);
          if (!self.own_.mail.prepare_to_sleep()) return false;
          if (self.link_.events.empty()) return true;
          self.own_.mail.stay_awake();
          return false;
        },
    .event_queue = [](const verbs& v, unsigned context) -> event_context* {
      return context == 0 ? of(v).context_ : nullptr;
    },
    .ask =
        [](verbs& v, object_operation& step) {
          of(v).to_control(step.step_crossing_,
                           [](crossing& c) noexcept { of_operation::at(c).run(); });
        },
    .answer =
        [](verbs& v, object_operation& step) {
          of(v).to_owner(step.step_crossing_, [](crossing& c) noexcept {
            object_operation& op = of_operation::at(c);
            // The stop request is still under way to the control owner. The control owner will
            // access the operation, so the operation waits.
            if (op.stopping_) op.answered_ = true;
            else op.advance(op.answer_);
          });
        },
    .stop =
        [](verbs& v, object_operation& step) {
          if (step.stopping_) return;
          step.stopping_ = true;
          of(v).to_control(step.stop_crossing_, [](crossing& c) noexcept {
            object_operation& asked = of_operation::at(c);
            asked.stop_step();
            of(*asked.owner_).to_owner(c, [](crossing& back) noexcept {
              object_operation& op = of_operation::at(back);
              op.stopping_ = false;
              if (!op.answered_) return;
              op.answered_ = false;
              op.advance(op.answer_);
            });
          });
        },
    .drop = [](verbs& v, object_operation& op) { of(v).drop(op); },
    .settle =
        [](verbs& v, device_object& object) {
          of(v).to_owner(object.settling, [](crossing& c) noexcept {
            device_object& settled = of_object::at(c);
            // The operation that put the object in doubt has not received its answer yet. The
            // answer waits for the return of a stop request.
            if (settled.under_change) settled.settled_first = true;
            else settled.owner->settle(settled);
          });
        },
    .close = [](verbs& v) { of(v).leave(); },
    .name = [](const verbs& v) { return of(v).name(); },
};

/// The control owner has the step, or the answer to the step is on its way to this owner. On the
/// control owner's own thread, drop() ends the step at once. On another thread, drop() can only
/// wait until the control owner's poll() does not use the operation any more.
void event_verbs::drop(object_operation& op) {
  const platform& p = device_->platform();
  const bool at_control_owner =
      control_thread_ != 0 && p.operations->current_thread(p.context) == control_thread_;
  if (!at_control_owner) location_->stop(*this, op);
  bool answered = op.answered_;
  do {
    if (at_control_owner) {
      while (device_->control_.reactor.mail.take() != 0) {
      }
    }
    if (own_.mail.take_out(op.step_crossing_)) answered = true;
    if (op.stopping_ && own_.mail.take_out(op.stop_crossing_)) op.stopping_ = false;
    if (at_control_owner && !answered) {
      op.answer_ = op.drop_step();
      answered = true;
    }
  } while (!answered || op.stopping_);
  op.answered_ = false;
  op.advance(op.answer_);
}

void event_verbs::to_owner(crossing& what, crossing::arrival arrive) {
  what.arrive = arrive;
  own_.mail.put(what);
}

void event_verbs::to_control(crossing& what, crossing::arrival arrive) {
  what.arrive = arrive;
  device_->control_.reactor.mail.put(what);
}

status event_verbs::open(device& adapter, const verbs_budget& b, const event_owner_setup& setup,
                         std::byte* storage, std::size_t bytes, const verbs_events& events) {
  if (is_open() || !adapter.up()) return driver_error::bad_state;
  if (setup.completion_context >= adapter.completion_contexts()) return driver_error::bad_argument;
  if (adapter.has_owner(setup.completion_context) ||
      adapter.completion_context(setup.completion_context).in_use())
    return driver_error::busy;
  const budget& d = adapter.opened_with();
  if (storage == nullptr || bytes < storage_bytes(d, b, setup.share))
    return status(driver_error::no_memory, static_cast<unsigned>(verbs_budget::item::storage));
  const directory_sizes sizes = sizes_of(b);
  const source own = {.numbers = &share_.numbers,
                      .arena = &share_.arena,
                      .doorbells = &share_.doorbells,
                      .uar = &share_.uar,
                      .contexts = nullptr};
  const std::size_t objects = bytes_for(sizes, b);
  share_.open(d, b, setup.share, storage + objects);
  FREEHCA_TRY(share_.take_memory(adapter.control_));
  status s = share_.take_numbers(adapter.control_);
  if (s.ok()) {
    s = open_at(at_event_context, own, adapter, sizes, b, storage, objects, events);
    if (!s.ok()) share_.give_numbers_back(adapter.control_);
  }
  if (!s.ok()) {
    share_.give_memory_back(adapter.control_);
    return s;
  }
  link_.of = this;
  link_.mail = &own_.mail;
  link_.name = setup.name;
  link_.context = setup.completion_context;
  own_.mail.open(setup.wake, setup.wake_context);
  link_.events.open(storage + objects + owner_share::storage_bytes(d, setup.share));
  link_.failed.arrive = [](crossing& c) noexcept {
    event_verbs& self = of(of_link::at(c));
    self.failure_ = self.link_.why_failed;
    const verbs_events& to = self.events_;
    if (to.device_failed != nullptr) to.device_failed(to.context, self.failure_);
  };
  link_.stop.arrive = [](crossing& c) noexcept { of(of_link::at(c)).stop(); };
  link_.release.arrive = [](crossing& c) noexcept { of(of_link::at(c)).release_device(); };
  link_.begin_anew.arrive = [](crossing& c) noexcept { of(of_link::at(c)).begin(); };
  link_.cut = [](owner_link& l, device& from) { return of(l).share_.take_numbers(from.control_); };
  link_.has = &concerns;
  link_.failure_reported = false;
  link_.is = owner_link::owner_state::working;
  link_.why_anew = {};
  const platform& p = adapter.platform();
  const auto current_thread = p.operations->current_thread;
  control_thread_ = current_thread != nullptr ? current_thread(p.context) : 0;
  context_ = &adapter.completion_context(setup.completion_context);
  adapter.owners_.add(link_);
  share_.begin();
  context_->set_sinks(sinks());
  working_ = true;
  return {};
}

event_verbs::~event_verbs() {
  if (close().ok()) return;
  leave();
  device_ = nullptr;
}

/// Called on the control owner's thread.
void event_verbs::leave() {
  // From here on, the control owner polls this context.
  context_->set_sinks(device_->sinks_);
  // If objects are left, the adapter may still use them. Their numbers and their memory then stay
  // taken.
  const bool gone = holdings().none();
  if (gone && working_) share_.give_numbers_back(device_->control_);
  if (gone) share_.give_memory_back(device_->control_);
  working_ = false;
  // Waits for the last answer of this owner too. Messages of other owners may be in the inbox
  // before it.
  while (link_.answers_heard != link_.answers_sent) device_->control_.reactor.mail.take();
  device_->owners_.remove(link_);
}

unsigned event_verbs::take() {
  own_.begin_poll();
  own_.expire(device_->platform().now());
  unsigned done = own_.mail.take();
  if (!working_) return done;
  event_relay::entry event;
  for (std::uint32_t n = 0; n < event_relay::places && link_.events.take(event); ++n, ++done)
    context_->dispatch(event);
  return done + context_->poll();
}

void event_verbs::stop() {
  working_ = false;
  each([](object_record& object) {
    if (object.what->suspend != nullptr) object.what->suspend(object);
  });
  ++link_.answers_sent;
  to_control(link_.has_stopped, [](crossing& c) noexcept {
    owner_link& l = of_link::at(c);
    ++l.answers_heard;
    if (l.is == owner_link::owner_state::stopping) l.is = owner_link::owner_state::stopped;
    of(l).device_->go_on();
  });
}

void event_verbs::release_device() {
  working_ = false;
  forget();
  event_relay::entry event;
  while (link_.events.take(event)) {
  }
  ++link_.answers_sent;
  to_control(link_.has_released, [](crossing& c) noexcept {
    owner_link& l = of_link::at(c);
    ++l.answers_heard;
    l.is = owner_link::owner_state::released;
    of(l).device_->go_on();
  });
}

void event_verbs::begin() {
  working_ = link_.why_anew.ok();
  if (working_) {
    share_.begin();
    context_->set_sinks(sinks());
  }
  if (events_.up_again != nullptr) events_.up_again(events_.context, link_.why_anew);
}

bool event_verbs::concerns(const owner_link& l, const event_relay::entry& event) {
  const owner_share& share = static_cast<const link&>(l).of->share_;
  const event_subject subject = subject_of(event);
  switch (subject.of) {
    case event_subject::kind::completion_queue:
      return share.has(&number_spaces::cqs, subject.number);
    case event_subject::kind::queue_pair:
      return share.has(&number_spaces::qps, subject.number);
    case event_subject::kind::shared_receive_queue:
      return share.has(&number_spaces::srqs, subject.number);
    case event_subject::kind::none:
      break;
  }
  return false;
}

}  // namespace freehca

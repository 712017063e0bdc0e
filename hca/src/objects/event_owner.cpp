// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The part of `verbs` that only event owners need: a completion context, the messages of a reset,
// and operations that are destroyed while a step of them crosses.
#include <freehca/hca/objects/verbs.hpp>

#include <new>

namespace freehca {

namespace {

using of_link = crossing_of<owner_link>;

}  // namespace

status verbs::open(device& adapter, const verbs_budget& b, const event_owner_setup& setup,
                   std::byte* storage, std::size_t bytes, const verbs_events& events) {
  if (is_open() || !adapter.up()) return driver_error::bad_state;
  if (setup.completion_context >= adapter.completion_contexts()) return driver_error::bad_argument;
  if (adapter.has_owner(setup.completion_context) ||
      adapter.completion_context(setup.completion_context).in_use())
    return driver_error::busy;
  if (bytes < event_owner_storage_bytes(b))
    return status(driver_error::no_memory, static_cast<unsigned>(verbs_budget::item::storage));
  const std::uint32_t places = directory_places(b);
  const directory_sizes sizes{places, places, places};
  const std::size_t objects = bytes_for(sizes, b);
  FREEHCA_TRY(open_parts(adapter, sizes, b, storage, objects, events));
  std::byte* const relay = storage + objects;
  std::byte* const rest = relay + event_relay::storage_bytes();
  constexpr std::size_t alignment = alignof(owner_link);
  link_ = new (rest + (alignment - reinterpret_cast<std::uintptr_t>(rest) % alignment) % alignment)
      owner_link(*this, own_.mail);
  link_->events.open(relay);
  link_->poll = &verbs::poll_context;
  link_->drop = &verbs::drop_crossing;
  link_->leave = &verbs::leave_context;
  link_->name = setup.name;
  link_->context = setup.completion_context;
  link_->places = places;
  if (const status s = link_->take_page(adapter.uars()); !s.ok()) {
    close_parts();
    return s;
  }
  own_.mail.open(setup.wake, setup.wake_context);
  own_.entry = setup.entry;
  link_->failed.arrive = [](crossing& c) noexcept {
    const owner_link& link = of_link::at(c);
    verbs& self = link.of;
    self.failure_ = link.why_failed;
    const verbs_events& to = self.events_;
    if (to.device_failed != nullptr) to.device_failed(to.context, self.failure_);
  };
  link_->stop.arrive = [](crossing& c) noexcept { of_link::at(c).of.stop_using(); };
  link_->release.arrive = [](crossing& c) noexcept { of_link::at(c).of.release_device(); };
  link_->begin_anew.arrive = [](crossing& c) noexcept { of_link::at(c).of.begin_anew(); };
  adapter.owners_.add(*link_);
  context().set_sinks(sinks());
  return {};
}

/// Called on the control owner's thread.
void verbs::leave_context() {
  // From here on, the control owner polls this context.
  context().set_sinks(device_->sinks_);
  // If objects are left, the adapter may still use them. What they have of the device then stays
  // allocated.
  if (link_->working && holdings().none()) device_->uars().free(link_->uar);
  link_->working = false;
  // Waits for the last answer of this owner too. Messages of other owners may be in the inbox
  // before it. This owner has answered all that crossed to it.
  using enum owner_link::owner_state;
  while (link_->is == stopping || link_->is == releasing) device_->control_.reactor.mail.take();
  // The next owner of the context has the same id and a directory of its own.
  each([this](object_record& left) {
    if (!left.what->is_device_object) return;
    const auto& o = static_cast<device_object&>(left);
    if (o.device_number != object_record::none)
      (device_->numbers().*left.what->facts.numbers).set_owner(o.device_number, o.number_count, 0);
  });
  device_->owners_.remove(*link_);
}

unsigned verbs::poll_context() {
  own_.begin_poll();
  own_.expire(device_->platform().now());
  owner_link& link = *link_;  // a callback may close this object
  event_context& events = context();
  unsigned done = own_.mail.take();
  if (!link.working) return done;
  event_relay::entry event;
  for (std::uint32_t n = 0; n < event_relay::places && link.events.take(event); ++n, ++done)
    events.dispatch(event);
  return done + events.poll();
}

/// The control owner has the step, or the answer to the step is on its way to this owner. If the
/// caller has entered the control owner too, the step ends at once. Otherwise this owner can only
/// wait until the control owner's poll() does not use the operation any more.
void verbs::drop_crossing(object_operation& op) {
  reactor& control = device_->control_.reactor;
  const bool entered_both = control.entry.passes();
  if (!entered_both) stop(op);
  bool answered = op.answered_;
  do {
    if (entered_both) {
      while (control.mail.take() != 0) {
      }
    }
    if (own_.mail.take_out(op.step_crossing_)) answered = true;
    if (op.stopping_ && own_.mail.take_out(op.stop_crossing_)) op.stopping_ = false;
    if (entered_both && !answered) {
      op.drop_step();
      answered = true;
    }
  } while (!answered || op.stopping_);
  op.answered_ = false;
  op.advance(op.answer_);
}

void verbs::stop_using() {
  link_->working = false;
  each([](object_record& object) {
    if (object.what->suspend != nullptr) object.what->suspend(object);
  });
  const auto stopped = [](crossing& c) noexcept {
    owner_link& link = of_link::at(c);
    if (link.is == owner_link::owner_state::stopping) link.is = owner_link::owner_state::stopped;
    link.of.device_->go_on();
  };
  send(link_->has_stopped, stopped, device_->commands().reactor());
}

void verbs::release_device() {
  link_->working = false;
  forget();
  event_relay::entry event;
  while (link_->events.take(event)) {
  }
  const auto released = [](crossing& c) noexcept {
    owner_link& link = of_link::at(c);
    link.is = owner_link::owner_state::released;
    // No step of this owner is under way any more that could still need them.
    verbs& self = link.of;
    for (unsigned k = 0; k < self.kinds_; ++k)
      for (std::uint32_t i = 0; i < self.slabs_[k].made(); ++i)
        if (self.slabs_[k].what()->is_device_object)
          self.free(static_cast<device_object&>(self.slabs_[k].at(i)));
    self.device_->go_on();
  };
  send(link_->has_released, released, device_->commands().reactor());
}

void verbs::begin_anew() {
  link_->working = link_->why_anew.ok();
  if (link_->working) context().set_sinks(sinks());
  if (events_.up_again != nullptr) events_.up_again(events_.context, link_->why_anew);
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/objects/verbs.hpp>

#include <freehca/hal/storage.hpp>

namespace freehca {

namespace {

class divider {
 public:
  explicit divider(std::byte* from) : at_(from) {}
  std::byte* take(std::size_t bytes) {
    std::byte* const part = at_;
    at_ += detail::up_to_16(bytes);
    return part;
  }
  template <class T>
  T* take_array(std::size_t count) {
    // T may be a pointer type. NOLINTNEXTLINE(bugprone-sizeof-expression)
    return storage_for<T>(take(count * sizeof(T)));
  }

 private:
  std::byte* at_;
};

}  // namespace

#ifndef NDEBUG
void verbs::expect_entered() const {
  if (!is_open() || !reactor_->entry.fails()) return;
  device_->platform().log({log_topic::not_entered, severity::error, name()});
  FREEHCA_ASSERT(false);
}
#endif

status verbs::open(device& adapter, const verbs_budget& b, std::byte* storage, std::size_t bytes,
                   const verbs_events& events) {
  const budget& d = adapter.opened_with();
  if (adapter.has_sinks()) return driver_error::busy;
  FREEHCA_TRY(open_parts(adapter, {1u << d.log_qps, 1u << d.log_cqs, 1u << d.log_srqs}, b, storage,
                         bytes, events));
  reactor_ = &adapter.commands().reactor();
  reactor_->take_ended(own_);
  adapter.set_sinks(sinks());
  return {};
}

status verbs::open_parts(device& adapter, const directory_sizes& sizes, const verbs_budget& b,
                         std::byte* storage, std::size_t bytes, const verbs_events& events) {
  if (is_open() || !adapter.up()) return driver_error::bad_state;
  if (storage == nullptr || reinterpret_cast<std::uintptr_t>(storage) % 16 != 0 ||
      bytes < bytes_for(sizes, b))
    return status(driver_error::no_memory, static_cast<unsigned>(verbs_budget::item::storage));
  divider parts(storage);
  const std::uint32_t generation = device::next_generation();
  for (const verbs_budget::entry& e : b.kinds) {
    if (e.what == nullptr) break;
    if (e.count >> slab::place_bits != 0) {
      close_parts();
      return driver_error::bad_argument;
    }
    std::byte* const room = parts.take(slab::storage_bytes_for(*e.what, e.count));
    slabs_[kinds_].open(*e.what, room, e.count, kinds_, generation, *this);
    ++kinds_;
  }
  queue_pairs_.open(parts.take_array<queues::qp_rings*>(sizes.qps), sizes.qps);
  completion_queues_.open(parts.take_array<object_record*>(sizes.cqs), sizes.cqs);
  shared_receive_queues_.open(parts.take_array<object_record*>(sizes.srqs), sizes.srqs);

  // A dma_arena divides a block by its device addresses. This block has host addresses in their
  // place; the device never uses them.
  const std::size_t requests =
      std::size_t{b.requests} * sizeof(queues::posted_request) + detail::request_unit;
  std::byte* const block = parts.take(requests);
  const std::size_t skip =
      (0 - reinterpret_cast<std::uintptr_t>(block)) & (detail::request_unit - 1);
  const std::size_t usable = requests - skip;
  std::byte* const bits = parts.take(dma_arena::storage_bytes_for(usable, detail::request_unit));
  if (const status s = requests_.open(
          {block + skip, reinterpret_cast<std::uintptr_t>(block + skip), usable},
          detail::request_unit, bits, dma_arena::storage_bytes_for(usable, detail::request_unit),
          static_cast<unsigned>(verbs_budget::item::requests));
      !s.ok()) {
    close_parts();
    return s;
  }
  device_ = &adapter;
  events_ = events;
  failure_ = {};
  return {};
}

void verbs::close_parts() {
  for (unsigned i = 0; i < kinds_; ++i) slabs_[i].close();
  kinds_ = 0;
  requests_.close();
  reactor_ = &own_;
  device_ = nullptr;
  link_ = nullptr;
}

verbs::~verbs() {
  // If objects are left, their events reach no verbs object any more.
  if (!close().ok()) leave();
}

status verbs::close() {
  if (!is_open()) return {};
  // Delivers the messages to an event owner whose thread has ended.
  while (own_.mail.take() != 0) {
  }
  if (operations_ != 0 || !holdings().none()) return driver_error::busy;
  leave();
  close_parts();
  return {};
}

void verbs::leave() {
  if (link_ != nullptr) return (this->*link_->leave)();
  device_->set_sinks({});
}

void verbs::send(crossing& what, crossing::arrival arrive, reactor& to) {
  what.arrive = arrive;
  to.mail.put(what);
}

unsigned verbs::poll() {
  expect_entered();
  if (!is_open()) return reactor_->deliver();
  unsigned done = link_ != nullptr ? (this->*link_->poll)() : poll_device();
  if (!polled_.empty()) {
    // A callback may create and destroy objects, and may close this verbs object.
    list<object_record> batch;
    batch.take_all(polled_);
    while (object_record* const object = batch.pop_front()) {
      polled_.push_back(*object);
      if (object->state == object_record::phase::live) done += object->what->poll(*this, *object);
    }
  }
  done += reactor_->deliver();
  reap();
  return done;
}

void verbs::poll_all(unsigned most_turns) {
  for (unsigned i = 0; i < most_turns; ++i)
    if (poll() == 0 && next_deadline() != 0) return;
}

unsigned verbs::poll_device() {
  device& d = *device_;  // a callback may close this object
  unsigned done = d.poll();
  for (unsigned i = 0; i < d.completion_contexts(); ++i)
    if (!d.has_owner(i)) done += d.completion_context(i).poll();
  return done;
}

std::uint64_t verbs::next_deadline() const {
  if (!is_open()) return reactor_->next_deadline();
  const bool reaper_free = reaper_.where() == operation::phase::idle || reaper_.done();
  if (!reclaimable_.empty() && reaper_free) return 0;
  for (object_record* o = polled_.back(); o != nullptr; o = polled_.previous(*o))
    if (o->state == object_record::phase::live && o->what->due(*o)) return 0;
  if (link_ != nullptr) {
    const std::uint64_t next = reactor_->next_deadline();
    if (!link_->working) return next;
    if (!link_->events.empty() || context().due()) return 0;
    return clock::earlier(next, device_->next_look_at_events(context()));
  }
  for (unsigned i = 0; i < device_->completion_contexts(); ++i)
    if (const event_context* const context = event_queue(i); context != nullptr && context->due())
      return 0;
  return device_->next_deadline();
}

bool verbs::prepare_to_sleep() {
  if (!is_open()) return true;
  if (!reactor_->mail.prepare_to_sleep()) return false;
  if (link_ == nullptr || link_->events.empty()) return true;
  reactor_->mail.stay_awake();
  return false;
}

event_context* verbs::event_queue(unsigned completion_context) const {
  if (link_ != nullptr) return completion_context == 0 ? &context() : nullptr;
  const bool here = completion_context < device_->completion_contexts() &&
                    !device_->has_owner(completion_context);
  return here ? &device_->completion_context(completion_context) : nullptr;
}

void verbs::want_back(device_object& object, object_record::phase as) {
  object.state = as;
  object.unlink();  // from polled_
  reclaimable_.push_back(object);
}

void verbs::reap() {
  if (reaper_.where() != operation::phase::idle && !reaper_.done()) return;
  device_object* const object = reclaimable_.pop_front();
  if (object == nullptr) return;
  reaper_.restart();
  reaper_.start_unwinding(*object);
}

verbs_holdings verbs::holdings() const {
  verbs_holdings h;
  if (!is_open()) return h;
  h.request_bytes = requests_.bytes_out();
  for (unsigned k = 0; k < kinds_; ++k) h.objects += slabs_[k].out();
  each([&h](const object_record& object) {
    if (object.in_doubt()) ++h.in_doubt;
  });
  return h;
}

// ---- Finding objects.

slab* verbs::slab_of(const kind& what) {
  for (unsigned i = 0; i < kinds_; ++i)
    if (slabs_[i].what() == &what) return &slabs_[i];
  return nullptr;
}

object_record* verbs::find(handle_bits which, const kind_identity& expected) const {
  expect_entered();
  const auto index = static_cast<std::uint32_t>(which);
  const auto generation = static_cast<std::uint32_t>(static_cast<std::uint64_t>(which) >> 32);
  const std::uint32_t number = index >> slab::place_bits;
  const std::uint32_t place = index & ((std::uint32_t{1} << slab::place_bits) - 1);
  if (number >= kinds_ || place >= slabs_[number].made()) return nullptr;
  for (const kind_identity* is = slabs_[number].what()->identity; is != &expected; is = is->base)
    if (is->base == nullptr) return nullptr;
  object_record& object = slabs_[number].at(place);
  return object.generation == generation ? &object : nullptr;
}

status verbs::usable(const object_record* object) {
  if (object == nullptr) return driver_error::stale_handle;
  using enum object_record::phase;
  return object->state == live || object->state == blank ? status() : driver_error::busy;
}

status verbs::destroy_now(object_record* object) {
  FREEHCA_TRY(usable(object));
  if (object->what->is_device_object) return driver_error::bad_argument;
  if (object->users != 0) return driver_error::busy;
  release(*object);
  return {};
}

}  // namespace freehca

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <new>

#include <freehca/easy/adapter.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/storage.hpp>

namespace freehca::easy {

namespace {
// Chosen; it has no source. The device writes the event directly after the completion.
constexpr std::uint64_t event_patience = clock::milliseconds(10);
}  // namespace

adapter::~adapter() {
  device_.close();
  for (std::uint32_t i = 0; i < place_count_; ++i) places_[i].~place();
}

status adapter::open(const setup& given) {
  if (places_ != nullptr) return driver_error::bad_state;
  if (given.storage == nullptr || reinterpret_cast<std::uintptr_t>(given.storage) % 16 != 0)
    return driver_error::bad_argument;
  if (given.storage_bytes < storage_bytes(given.size))
    return status(driver_error::no_memory, static_cast<unsigned>(budget::item::storage));
  const std::size_t device_bytes = device::storage_bytes(given.size.budget);
  std::byte* const device_storage = given.storage + places_bytes(given.size);
  FREEHCA_TRY(device_.open({.platform = given.platform,
                            .budget = given.size.budget,
                            .storage = device_storage,
                            .storage_bytes = device_bytes,
                            .port_wait = given.port_wait,
                            .link_wait = given.link_wait,
                            .take_over = given.take_over,
                            .wake = given.wake,
                            .wake_context = given.wake_context,
                            .entry = given.entry}));
  setup_ = given;
  verbs_storage_ = device_storage + device_bytes;
  places_ = storage_for<place>(given.storage);
  place_count_ = places_for(given.size.objects);
  for (std::uint32_t i = 0; i < place_count_; ++i) ::new (static_cast<void*>(places_ + i)) place;
  return {};
}

status adapter::open_objects() {
  FREEHCA_TRY(verbs_.open(device_, setup_.size.objects, verbs_storage_,
                          verbs::storage_bytes(setup_.size.budget, setup_.size.objects),
                          own_events()));
  const result<pd_handle> domain = verbs_.create<protection_domain>();
  if (!domain.ok()) return domain.error();
  domain_ = domain.value();
  return {};
}

status adapter::close_objects() {
  if (!verbs_.is_open()) return {};
  // If objects of the domain are left, it is busy. After a reset, the domain is gone.
  if (domain_ && verbs_.destroy(domain_).ok()) domain_ = {};
  FREEHCA_TRY(verbs_.close());
  domain_ = {};
  return {};
}

verbs_events adapter::own_events() {
  verbs_events e;
  e.context = this;
  e.completion = [](void* self, cq_handle queue, void* cookie) noexcept {
    adapter& a = *static_cast<adapter*>(self);
    for (std::uint32_t i = 0; i < a.place_count_; ++i) {
      if (cookie != &a.places_[i]) continue;
      a.places_[i].take_event();
      return;
    }
    const verbs_events& to = a.setup_.events;
    if (to.completion != nullptr) to.completion(to.context, queue, cookie);
  };
  e.cq_error = [](void* self, cq_handle queue, void* cookie,
                  layouts::cq_error_syndrome why) noexcept {
    const verbs_events& to = static_cast<adapter*>(self)->setup_.events;
    if (to.cq_error != nullptr) to.cq_error(to.context, queue, cookie, why);
  };
  e.qp = [](void* self, qp_handle queue, void* cookie, layouts::event_type type) noexcept {
    const verbs_events& to = static_cast<adapter*>(self)->setup_.events;
    if (to.qp != nullptr) to.qp(to.context, queue, cookie, type);
  };
  e.srq = [](void* self, srq_handle queue, void* cookie, layouts::event_type type) noexcept {
    const verbs_events& to = static_cast<adapter*>(self)->setup_.events;
    if (to.srq != nullptr) to.srq(to.context, queue, cookie, type);
  };
  e.port = [](void* self, unsigned port) noexcept {
    const verbs_events& to = static_cast<adapter*>(self)->setup_.events;
    if (to.port != nullptr) to.port(to.context, port);
  };
  e.device_failed = [](void* self, status why) noexcept {
    adapter& a = *static_cast<adapter*>(self);
    a.failure_ = why;
    const verbs_events& to = a.setup_.events;
    if (to.device_failed != nullptr) to.device_failed(to.context, why);
  };
  e.request_ended = [](void* self, qp_handle queue, void* cookie,
                       const queues::work_completion& completion, status why) noexcept {
    const verbs_events& to = static_cast<adapter*>(self)->setup_.events;
    if (to.request_ended != nullptr) to.request_ended(to.context, queue, cookie, completion, why);
  };
  return e;
}

result<ah_handle> adapter::address_of(const connection& from, const peer& to) {
  const place* const p = find_place(from.where, from.serial);
  if (p == nullptr) return status(driver_error::stale_handle);
  if (!share_partition(from.self, to)) return status(driver_error::bad_argument);
  return verbs_.create<address_handle>(
      {.pd = domain_, .address = path_between(p->port, from.self, to)});
}

// ---- Places.

place* adapter::find_place(place* p, std::uint32_t serial) const {
  // `p` may be a place of another adapter, outside of this array.
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const auto first = reinterpret_cast<std::uintptr_t>(places_);
  const bool here = p != nullptr && at >= first && at - first < place_count_ * sizeof(place);
  return here && p->is(serial) ? p : nullptr;
}

place* adapter::take_place() {
  for (std::uint32_t i = 0; i < place_count_; ++i) {
    place& p = places_[i];
    if (p.now != place::use::free) continue;
    p.now = place::use::taken;
    p.serial = ++last_serial_;
    return &p;
  }
  return nullptr;
}

void adapter::vacate(place& p) {
  end_waiting(p, driver_error::stale_handle);
  if (p.now == place::use::left) --left_;
  if (p.memory.bytes != 0 && !p.is_program_memory) {
    // The last stores of the program are in memory before the memory has another user. A cache that
    // is not coherent might write them back later, over what the device has stored by then.
    cache::clean(p.memory.host, p.memory.bytes);
    device_.arena().free(p.memory);
  }
  p.now = place::use::free;
  p.worked_on = p.refused = false;
  p.take_event();
  p.region = {};
  p.memory = {};
  p.is_program_memory = false;
  p.pair = {};
  p.completions = {};
  p.queues = nullptr;
  p.completed = nullptr;
}

void adapter::leave(place& p) {
  p.now = place::use::left;
  p.worked_on = false;
  ++left_;
}

std::uint32_t adapter::places_taken() const {
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < place_count_; ++i)
    n += places_[i].now != place::use::free ? 1u : 0u;
  return n;
}

bool adapter::can_be_taken_back(const place& p) const {
  const object_record* const all[] = {verbs_.find(p.pair), verbs_.find(p.completions),
                                      verbs_.find(p.region)};
  for (const object_record* const object : all)
    if (object != nullptr) return verbs::usable(object).ok() && object->users == 0;
  return true;
}

void adapter::reap() {
  if (left_ == 0 || (reaper_.where() != operation::phase::idle && !reaper_.done())) return;
  if (reaper_.done() && reaped_ != nullptr) {
    // If the device has refused once, the place is held until a reset and no other attempt is made.
    if (reaped_->now == place::use::left && !reaper_.outcome().ok() &&
        !reaper_.outcome().is(driver_error::busy))
      reaped_->refused = true;
    reaped_ = nullptr;
  }
  for (std::uint32_t i = 0; i < place_count_; ++i) {
    place& p = places_[i];
    if (p.now != place::use::left || p.worked_on || p.refused || !can_be_taken_back(p)) continue;
    reaped_ = &p;
    reaper_.restart();
    return reaper_.start(*this, p);
  }
}

// ---- Completions.

void next_completion::start(adapter& hca, const connection& of) {
  if (!startable()) return;
  place* const p = hca.find_place(of.where, of.serial);
  if (p == nullptr || p->completed == nullptr) return refuse(hca, driver_error::stale_handle);
  wait_in(hca, *p, &on_cancel);
  hca.reactor().wake();
}

void next_completion::on_cancel(operation& op, void* owner) noexcept {
  auto& self = static_cast<next_completion&>(op);
  if (!self.dropped()) static_cast<adapter*>(owner)->reactor().end(self, self.stop_reason());
}

/// If a callback starts an operation again, that operation waits for the next call. If a callback
/// polls, the inner call continues with the operations in `in_turn`.
unsigned adapter::hand_out(place& p) {
  p.in_turn.take_all(p.waiting);
  unsigned handed = 0;
  queues::work_completion w;
  for (; sequence* const first = p.in_turn.front(); ++handed) {
    if (p.completed == nullptr || p.completed->rings.poll(&w, 1) == 0) break;
    auto& one = static_cast<next_completion&>(*first);
    one.bring(w);
    one.complete({});
  }
  p.in_turn.take_all(p.waiting);
  p.waiting.take_all(p.in_turn);
  return handed;
}

unsigned adapter::look_for_completions(place& p) {
  const std::uint64_t now = setup_.platform.now();
  const unsigned handed = hand_out(p);
  if (p.completed == nullptr) return handed;
  queues::cq& ring = p.completed->rings;
  // A completion was found before its event. The event normally arrives later and is handled then.
  // Until then the queue must not be armed for the next completion.
  if (handed != 0 && p.armed && p.event_due == clock::never)
    p.event_due = clock::after(now, event_patience);
  if (p.event_due <= now) {
    ring.on_event();
    p.take_event();
  }
  if (p.waiting.empty()) return handed;
  if (!failure_.ok()) {
    end_waiting(p, failure_);
  } else if (!p.armed && ring.is_open()) {
    ring.arm();
    p.armed = true;
    if (ring.pending()) reactor().wake();  // a completion arrived before arm()
  }
  return handed;
}

void adapter::end_waiting(place& p, status why) {
  p.in_turn.take_all(p.waiting);
  while (sequence* const s = p.in_turn.front()) reactor().end(*s, why);
}

// ---- Driving it.

unsigned adapter::poll() {
  unsigned handled = verbs_.is_open() ? verbs_.poll() : device_.poll();
  for (std::uint32_t i = 0; i < place_count_; ++i)
    if (!places_[i].waiting.empty()) handled += look_for_completions(places_[i]);
  handled += reactor().deliver();
  reap();
  if (ending_ != nullptr && ending_->go_down()) ++handled;
  return handled;
}

std::uint64_t adapter::next_deadline() const {
  if (ending_ != nullptr && !ending_->waits_for_device()) return 0;
  std::uint64_t next = verbs_.is_open() ? verbs_.next_deadline() : device_.next_deadline();
  for (std::uint32_t i = 0; i < place_count_; ++i)
    if (const place& p = places_[i]; !p.waiting.empty()) next = clock::earlier(next, p.event_due);
  return next;
}

}  // namespace freehca::easy

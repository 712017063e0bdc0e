// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/easy/adapter.hpp>

namespace freehca::easy {

status adapter::open(const setup& given) {
  if (device_.state() != device_state::closed) return driver_error::bad_state;
  if (given.storage == nullptr || reinterpret_cast<std::uintptr_t>(given.storage) % 16 != 0)
    return driver_error::bad_argument;
  const std::size_t of_device = device::storage_bytes(given.size.budget);
  setup_ = given;
  setup_.size.objects = all_kinds(given.size.objects);
  setup_.storage += of_device;
  setup_.storage_bytes -= of_device;
  if (given.storage_bytes < of_device ||
      setup_.storage_bytes < verbs::storage_bytes(given.size.budget, setup_.size.objects))
    return status(driver_error::no_memory, static_cast<unsigned>(budget::item::storage));
  return device_.open({.platform = given.platform,
                       .budget = given.size.budget,
                       .storage = given.storage,
                       .storage_bytes = of_device,
                       .port_wait = given.port_wait,
                       .link_wait = given.link_wait,
                       .take_over = given.take_over,
                       .wake = given.wake,
                       .wake_context = given.wake_context,
                       .entry = given.entry});
}

result<queues::address> adapter::address_of(const connection& from, const peer& to) {
  const connection_object* const p = find(from);
  if (p == nullptr) return status(driver_error::stale_handle);
  FREEHCA_TRY(check_peers(from.self, to, verbs_.refused()));
  queues::address address;
  FREEHCA_TRY(write_address(verbs_, domain_, p->path(from.self, to), address));
  return address;
}

void next_completion::start(adapter& hca, const connection& of) {
  if (!startable()) return;
  connection_object* const p = hca.find(of);
  if (p == nullptr) return refuse(hca, driver_error::stale_handle);
  begin_waiting(hca, &on_cancel);
  p->waiting.push_back(*this);
  if (!p->list_place<next_completion>::linked()) hca.waiting_.push_back(*p);
  reactor().wake();
}

void next_completion::on_cancel(operation& op, void* owner) noexcept {
  auto& self = static_cast<next_completion&>(op);
  if (!self.dropped()) static_cast<adapter*>(owner)->reactor().end(self, self.stop_reason());
}

unsigned adapter::poll() {
  const bool was_open = verbs_.is_open();
  unsigned handled = verbs_.poll();
  if (!was_open) handled += device_.poll();
  // A callback may poll, and may close any connection.
  list<connection_object, next_completion> batch;
  batch.take_all(waiting_);
  while (connection_object* const p = batch.pop_front()) {
    if (p->waiting.empty()) continue;
    waiting_.push_back(*p);
    handled += p->look(verbs_);
  }
  handled += reactor().deliver();
  if (works()) return handled;
  if (stage_ != stage::none) return handled + (go_down() ? 1u : 0u);
  if (!left_.empty()) static_cast<void>(take_back());
  return handled;
}

std::uint64_t adapter::next_deadline() const {
  if (stage_ != stage::none && !works() && (stage_ == stage::objects || down_.done())) return 0;
  std::uint64_t next = verbs_.next_deadline();
  if (!verbs_.is_open()) next = clock::earlier(next, device_.next_deadline());
  for (connection_object* p = waiting_.back(); p != nullptr; p = waiting_.previous(*p))
    next = clock::earlier(next, p->event_due());
  return next;
}

}  // namespace freehca::easy

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/verified_traffic/session.hpp>

namespace freehca::verified_traffic {

session::storage session::allocate(std::size_t bytes) {
  return storage(new (std::align_val_t{16}, std::nothrow) std::byte[bytes]);
}

session::session(surroundings& host, const session_options& how)
    : host_(host),
      how_(how),
      device_storage_(allocate(device::storage_bytes(how.budget))),
      verbs_storage_(allocate(verbs::storage_bytes(how.budget, how.objects))) {}

session::~session() {
  device_.close();
}

std::size_t session::dma_bytes(const session_options& how) {
  return device::dma_bytes(how.budget);
}

std::size_t session::memory_bytes(const session_options& how) {
  return device::storage_bytes(how.budget) + verbs::storage_bytes(how.budget, how.objects);
}

status session::open(bool take_over) {
  if (!device_storage_ || !verbs_storage_)
    return status(driver_error::no_memory, static_cast<unsigned>(budget::item::storage));
  device_setup setup;
  setup.platform = host_.platform();
  setup.budget = how_.budget;
  setup.storage = device_storage_.get();
  setup.storage_bytes = device::storage_bytes(how_.budget);
  setup.take_over = take_over;
  return device_.open(setup);
}

status session::bring_up(const std::function<void(const char*)>& progress) {
  operation up;
  device_.bring_up(up);
  const char* last = nullptr;
  bool cancelled = false;
  while (!up.done()) {
    const char* step = device::step_name(device_.step());
    if (progress && step != last) progress(last = step);
    if (host_.interrupted() && !cancelled) {
      up.cancel();
      cancelled = true;
    }
    turn();
  }
  FREEHCA_TRY(up.outcome());
  return verbs_.open(device_, how_.budget, how_.objects, verbs_storage_.get(),
                     verbs::storage_bytes(how_.budget, how_.objects));
}

status session::reset() {
  operation up;
  device_.bring_up(up);
  bool enough = false;
  while (!up.done()) {
    if (!enough && (device_.step() > bring_up_step::reset || host_.interrupted())) {
      up.cancel();
      enough = true;
    }
    turn();
  }
  const bool was_reset = device_.info().resets != 0;
  return was_reset && up.outcome().is(driver_error::cancelled) ? status() : up.outcome();
}

status session::tear_down() {
  if (device_.state() == device_state::closed) return {};
  // Objects that the firmware has not taken back keep this from closing. The device is reset then,
  // and has them forgotten.
  static_cast<void>(verbs_.close());
  operation down;
  device_.tear_down(down);
  status outcome = await_cleanup(down);
  const status closed = verbs_.close();
  if (outcome.ok()) outcome = closed;
  if (outcome.ok()) memory_.clear();
  return outcome;
}

status session::await(operation& op) {
  bool cancelled = false;
  while (!op.done()) {
    if (host_.interrupted() && !cancelled) {
      op.cancel();
      cancelled = true;
    }
    turn();
  }
  return op.outcome();
}

status session::await_cleanup(operation& op) {
  while (!op.done()) turn();
  return op.outcome();
}

result<scattered_memory*> session::allocate_memory(std::size_t bytes) {
  memory_.push_back(std::make_unique<scattered_memory>());
  if (const status s = memory_.back()->allocate(host_.platform(), bytes, memory_.size()); !s.ok()) {
    memory_.pop_back();
    return s;
  }
  return memory_.back().get();
}

void session::turn(bool sleep) {
  if (host_.lost() && !told_lost_) {
    told_lost_ = true;
    device_.lost();
  }
  const unsigned handled = verbs_.is_open() ? verbs_.poll() : device_.poll();
  // What was handled may be what the caller waits for. The host has its turn all the same now and
  // then: who never lets it sleep still wants to hear of a removal.
  if (handled > 0 && ++turns_without_host_ < most_turns_without_host) return;
  turns_without_host_ = 0;
  if (handled > 0 || !sleep) return host_.wait(0);
  host_.wait(verbs_.is_open() ? verbs_.next_deadline() : device_.next_deadline());
}

}  // namespace freehca::verified_traffic

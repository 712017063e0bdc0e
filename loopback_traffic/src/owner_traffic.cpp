// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/loopback_traffic/owner_traffic.hpp>

#include <fmt/format.h>

#include <freehca/layouts/ib_types.hpp>

namespace freehca::loopback_traffic {

namespace {

// So long may a thread sleep on when it is told to stop.
constexpr std::uint64_t longest_sleep = clock::milliseconds(20);

bool by_reset(status s) {
  return s.is(transport_error::reset) || s.is(transport_error::gone);
}

}  // namespace

verbs_budget owner_traffic::objects_needed() {
  verbs_budget b = verbs_budget{}
                       .with<protection_domain>(1)
                       .with<memory_region>(1)
                       .with<completion_queue>(1)
                       .with<queue_pair>(2);
  b.requests = 256;
  return b;
}

verbs_events owner_traffic::events() {
  verbs_events e;
  e.context = this;
  e.up_again = [](void* self, status s) noexcept {
    auto& t = *static_cast<owner_traffic*>(self);
    ++t.resets;
    if (!s.ok()) t.outcome = s;
  };
  return e;
}

void owner_traffic::run(verbs& objects, const owner_port& at, scattered_memory& buffer,
                        owner_sleep& sleep, const std::atomic<bool>& stop) {
  objects_ = &objects;
  at_ = at;
  buffer_ = &buffer;
  sleep_ = &sleep;
  stop_ = &stop;
  while (!stop.load(std::memory_order_relaxed) && ok()) {
    resets_seen_ = resets;
    status s = connect();
    if (s.ok()) s = move();
    if (s.ok()) s = take_back();
    if (!s.ok() && !by_reset(s)) outcome = s;
    if (s.ok() || !ok()) break;
    // The device is being reset: what was made goes, and begins anew.
    while (resets == resets_seen_ && !stop.load(std::memory_order_relaxed)) turn();
  }
  // A reset that is under way takes them along.
  while (ok() && !objects.holdings().none()) turn();
}

bool owner_traffic::working() const {
  return objects_->up() && resets == resets_seen_;
}

void owner_traffic::turn() {
  if (objects_->poll() != 0 || !objects_->prepare_to_sleep()) return;
  const std::uint64_t deadline = objects_->next_deadline();
  if (deadline == 0) return;
  const std::uint64_t now = objects_->adapter().platform().now();
  sleep_->sleep(clock::earlier(deadline, clock::after(now, longest_sleep)));
}

status owner_traffic::finish(operation& op) {
  while (!op.done()) turn();
  // Handles of what a reset took are stale.
  return op.outcome().ok() || working() ? op.outcome() : status(transport_error::reset);
}

status owner_traffic::connect() {
  const auto made = objects_->create<protection_domain>();
  // What is not up is about to be reset, or was.
  if (!made.ok()) return objects_->up() ? made.error() : status(transport_error::reset);
  domain_ = made.value();
  create_memory_region region;
  region.start(*objects_, {.pd = domain_,
                           .pages = buffer_->pages(),
                           .virtual_address = 0,
                           .access = {.local_write = true, .remote_write = true}});
  FREEHCA_TRY(finish(region));
  region_ = region.made();
  key_ = key_of(*objects_, region_);
  create_completion_queue completions;
  completions.start(*objects_, {.entries = 4 * slots});
  FREEHCA_TRY(finish(completions));
  completions_ = completions.made();
  for (qp_handle& queue : queues_) {
    create_queue_pair create;
    create.start(*objects_, {.pd = domain_,
                             .send_cq = completions_,
                             .receive_cq = completions_,
                             .sends = slots,
                             .receives = slots});
    FREEHCA_TRY(finish(create));
    queue = create.made();
  }
  for (unsigned i = 0; i < 2; ++i) {
    connection_attributes a;
    a.remote_write = true;
    a.path_mtu = at_.mtu;
    a.min_rnr_timer = 12;
    a.remote_qpn = qpn_of(*objects_, queues_[1 - i]);
    a.receive_psn = 0x100 + i;
    a.send_psn = 0x101 - i;
    a.address.port = static_cast<decltype(a.address.port)>(at_.port);
    a.address.dlid = at_.lid;
    using layouts::qp_state;
    for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      modify_queue_pair m;
      m.start(*objects_, queues_[i], to, a);
      FREEHCA_TRY(finish(m));
    }
  }
  return {};
}

status owner_traffic::move() {
  while (!stop_->load(std::memory_order_relaxed) && wrong.empty()) {
    // A round may find all its completions at once, and never come to turn(): what others ask for,
    // a reset above all, must not wait for that.
    objects_->poll();
    if (!working()) return transport_error::reset;
    FREEHCA_TRY(one_round());
  }
  return {};
}

status owner_traffic::one_round() {
  queue_pair* const sender = objects_->find(queues_[0]);
  queue_pair* const receiver = objects_->find(queues_[1]);
  if (sender == nullptr || receiver == nullptr) return transport_error::reset;
  message arriving[slots];
  unsigned completions = 0;
  for (unsigned i = 0; i < slots; ++i) {
    message& to = arriving[i];
    to = {++number_, (slots + i) * slot_bytes + message::guard,
          static_cast<std::size_t>(1 + number_ * 37 % message_bytes)};
    message from = to;
    from.offset = i * slot_bytes + message::guard;
    from.write(*buffer_);
    to.write_guards(*buffer_);
    const queues::data_entry there = queues::entry_of(to.offset, to.bytes, key_),
                             here = queues::entry_of(from.offset, from.bytes, key_);
    status s;
    if (i % 2 == 0) {
      s = sender->rings.send.post_and_ring(
          queues::rdma_write{.wr_id = i, .remote = {to.offset, key_}, .data = here});
      completions += 1;
    } else {
      s = receiver->rings.receive.post_and_ring({.wr_id = i, .list = &there, .entries = 1});
      if (s.ok()) s = sender->rings.send.post_and_ring(queues::send{.wr_id = i, .data = here});
      completions += 2;
    }
    if (!s.ok()) return working() ? s : status(transport_error::reset);
  }
  FREEHCA_TRY(wait_for(completions));
  for (const message& m : arriving) check(m);
  return {};
}

status owner_traffic::wait_for(unsigned completions) {
  for (bool armed = false; completions != 0;) {
    completion_queue* const queue = objects_->find(completions_);
    if (queue == nullptr || !working()) return transport_error::reset;
    queues::work_completion done[4];
    const unsigned count = queue->rings.poll(done, 4);
    for (unsigned i = 0; i < count; ++i)
      if (!done[i].ok()) {
        wrong = fmt::format("request {} ended with status {}", done[i].wr_id,
                            static_cast<unsigned>(done[i].status));
        return {};
      }
    completions -= count;
    if (count != 0) continue;
    if (armed) turn();
    // What comes between the look and the arming is found by the next look.
    if (objects_->find(completions_) != nullptr && working()) queue->rings.arm();
    armed = true;
  }
  return {};
}

void owner_traffic::check(const message& m) {
  if (!wrong.empty()) return;
  wrong = m.check(*buffer_);
  if (wrong.empty()) messages.fetch_add(1, std::memory_order_relaxed);
  else wrong = fmt::format("message {}: {}", m.number, wrong);
}

status owner_traffic::take_back() {
  for (const qp_handle queue : queues_) {
    destroy_queue_pair gone;
    gone.start(*objects_, queue);
    FREEHCA_TRY(finish(gone));
  }
  destroy_completion_queue no_completions;
  no_completions.start(*objects_, completions_);
  FREEHCA_TRY(finish(no_completions));
  destroy_memory_region no_region;
  no_region.start(*objects_, region_);
  FREEHCA_TRY(finish(no_region));
  const status s = objects_->destroy(domain_);
  return s.ok() || working() ? s : status(transport_error::reset);
}

}  // namespace freehca::loopback_traffic

// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/loopback_traffic/owner_traffic.hpp>

#include <fmt/format.h>

#include <freehca/layouts/ib_types.hpp>

namespace freehca::loopback_traffic {

namespace {

// So long may a thread sleep on when it is told to stop.
constexpr std::uint64_t longest_sleep = clock::milliseconds(20);

// The receive of the queue pair that only sends. Sends have the wr_id of their slot, receives have
// that plus `slots`.
constexpr unsigned idle_receive = 2 * owner_traffic::slots;
static_assert(idle_receive < 32);

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
  e.request_ended = [](void* self, qp_handle, void*, const queues::work_completion& completion,
                       status) noexcept {
    auto& t = *static_cast<owner_traffic*>(self);
    t.requests_ended += !completion.ok();
    t.end_request(completion);
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
    if (resets != resets_seen_) check_nothing_left();
  }
  // A reset that is under way takes them along.
  while (ok() && !objects.holdings().none()) turn();
  check_nothing_left();
}

/// Checks after a reset, and at the end, that all requests have ended and no object is left.
void owner_traffic::check_nothing_left() {
  if (!ok()) return;
  if (outstanding_ != 0)
    wrong = fmt::format("requests have not ended; their bits are {:#x}", outstanding_);
  else if (!objects_->holdings().none() || objects_->find(domain_) != nullptr ||
           objects_->find(region_) != nullptr || objects_->find(completions_) != nullptr ||
           objects_->find(queues_[0]) != nullptr || objects_->find(queues_[1]) != nullptr)
    wrong = "an object is left";
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
    a.address = infiniband_path{.port = static_cast<unsigned>(at_.port), .dlid = at_.lid};
    using layouts::qp_state;
    for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      modify_queue_pair m;
      m.start(*objects_, queues_[i], to, a);
      FREEHCA_TRY(finish(m));
    }
  }
  return {};
}

/// Posts a receive to the queue pair at which nothing arrives. It is outstanding at each reset.
status owner_traffic::post_idle_receive() {
  queue_pair* const queue = objects_->find(queues_[0]);
  if (queue == nullptr) return transport_error::reset;
  const queues::data_entry to = queues::entry_of(message::guard, message_bytes, key_);
  return posted(
      queue->rings.receive.post_and_ring({.wr_id = idle_receive, .list = &to, .entries = 1}),
      idle_receive);
}

status owner_traffic::move() {
  FREEHCA_TRY(post_idle_receive());
  query_queue_pair query;
  query.start(*objects_, queues_[0]);
  status s;
  while (s.ok() && wrong.empty() && !stop_->load(std::memory_order_relaxed)) {
    s = one_round();
    if (!s.ok() || !query.done()) continue;
    s = finish(query);
    if (!s.ok()) break;
    query.restart();
    query.start(*objects_, queues_[0]);
  }
  const status last = finish(query);
  queries_ended += !last.ok();
  return s.ok() ? last : s;
}

status owner_traffic::one_round() {
  queue_pair* const sender = objects_->find(queues_[0]);
  queue_pair* const receiver = objects_->find(queues_[1]);
  if (sender == nullptr || receiver == nullptr) return transport_error::reset;
  message arriving[slots];
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
    } else {
      const unsigned receive = slots + i;
      FREEHCA_TRY(posted(
          receiver->rings.receive.post_and_ring({.wr_id = receive, .list = &there, .entries = 1}),
          receive));
      s = sender->rings.send.post_and_ring(queues::send{.wr_id = i, .data = here});
    }
    FREEHCA_TRY(posted(s, i));
  }
  // A round may find all its completions at once, and never come to turn(): what others ask for,
  // a reset above all, must not wait for that. A reset that is found here ends the whole round.
  objects_->poll();
  FREEHCA_TRY(wait_for_completions());
  for (const message& m : arriving) check(m);
  return {};
}

/// Takes note of a request that was posted; `s` is the outcome of the post.
status owner_traffic::posted(status s, unsigned request) {
  if (!s.ok()) return working() ? s : status(transport_error::reset);
  outstanding_ |= 1u << request;
  return {};
}

/// Takes note of a request that has completed, or that a reset has ended.
void owner_traffic::end_request(const queues::work_completion& completion) {
  const std::uint32_t bit = completion.wr_id <= idle_receive ? 1u << completion.wr_id : 0;
  if ((outstanding_ & bit) == 0 && wrong.empty())
    wrong = fmt::format("request {} has ended and was not outstanding", completion.wr_id);
  outstanding_ &= ~bit;
}

status owner_traffic::wait_for_completions() {
  for (bool armed = false; outstanding_ != 1u << idle_receive && wrong.empty();) {
    completion_queue* const queue = objects_->find(completions_);
    if (queue == nullptr || !working()) return transport_error::reset;
    queues::work_completion done[4];
    const unsigned count = queue->rings.poll(done, 4);
    for (unsigned i = 0; i < count; ++i) {
      end_request(done[i]);
      if (!done[i].ok() && wrong.empty())
        wrong = fmt::format("request {} ended with status {}", done[i].wr_id,
                            static_cast<unsigned>(done[i].status));
    }
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
    outstanding_ &= ~(1u << idle_receive);  // it goes with the first one
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
